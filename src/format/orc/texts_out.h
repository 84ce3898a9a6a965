/* format/orc/texts_out.h - a dictionary while it is made: different texts once each, and a number for every value. */
#pragma once

#include "base/str.h"
#include "format/parquet/bytes_out.h"

typedef struct nl_orc_texts nl_orc_texts;

NL_MUST_USE nl_status nl_orc_texts_new(nl_memory *memory, nl_orc_texts **texts);
void nl_orc_texts_free(nl_orc_texts *texts); /* NULL is fine */
void nl_orc_texts_clear(nl_orc_texts *texts);
NL_MUST_USE nl_status nl_orc_texts_add(nl_orc_texts *texts, nl_str text); /* one more value */
uint64_t nl_orc_texts_value_count(const nl_orc_texts *texts);
uint32_t nl_orc_texts_count(const nl_orc_texts *texts);                   /* different ones */
size_t nl_orc_texts_bytes(const nl_orc_texts *texts);                     /* of the different ones, and of the numbers */
nl_str nl_orc_texts_at(const nl_orc_texts *texts, uint32_t number);
uint32_t nl_orc_texts_value(const nl_orc_texts *texts, uint64_t value);   /* its number */
/* Numbers by the order of their bytes, and each one's place in it. Both: counted, count entries. */
NL_MUST_USE nl_status nl_orc_texts_sort(const nl_orc_texts *texts, nl_buffer **order, nl_buffer **places);
