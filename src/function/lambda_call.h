/* function/lambda_call.h - calling a lambda over gathered elements. Private to function/. */
#pragma once

#include "function/kernel.h"

static inline nl_status nl_lambda_call(const nl_lambda *lambda, nl_eval *eval, const nl_vector *parameters, const uint32_t *parents,
                                       uint32_t length, nl_vector *out)
{
    if (length == 0) return nl_vector_new_flat(out, lambda->result_type, 0, eval->memory);
    return lambda->evaluate(lambda, eval, parameters, lambda->parameter_count, parents, length, out);
}
