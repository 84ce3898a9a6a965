/* scalar/aes.c - aes_encrypt, aes_decrypt, try_aes_decrypt: AES of OpenSSL in the modes ECB, CBC and GCM.
 *
 * As Spark lays it out: CBC and GCM put the initialization vector (16 and 12 bytes) in front, GCM its tag of 16 bytes
 * at the end.
 */
#include <openssl/evp.h>
#include <openssl/rand.h>

#include "function/groups.h"

#define NAMES        "`aes_encrypt`/`aes_decrypt`"
#define TAG_BYTES    16u
#define VECTOR_MAX   16u

typedef enum aes_mode { MODE_ECB, MODE_CBC, MODE_GCM, MODE_COUNT } aes_mode;

static const uint32_t vector_bytes[] = {[MODE_ECB] = 0, [MODE_CBC] = 16, [MODE_GCM] = 12};

typedef struct aes_call {
    bool is_encrypting;
    aes_mode mode;
    nl_str key;
    nl_str vector; /* given by the caller; empty: made, or in front of the input */
    nl_str extra;  /* additional authenticated data */
} aes_call;

static nl_str argument(const nl_row_context *context, uint32_t i, uint32_t row, nl_str missing)
{
    return i < context->function->argument_count ? nl_reader_str(&context->readers[i], row) : missing;
}

static nl_status find_mode(nl_str mode, nl_str padding, aes_mode *found)
{
    bool is_default = nl_str_is_nocase(padding, "DEFAULT");
    *found = MODE_COUNT;
    if (nl_str_is_nocase(mode, "ECB") && (is_default || nl_str_is_nocase(padding, "PKCS"))) *found = MODE_ECB;
    if (nl_str_is_nocase(mode, "CBC") && (is_default || nl_str_is_nocase(padding, "PKCS"))) *found = MODE_CBC;
    if (nl_str_is_nocase(mode, "GCM") && (is_default || nl_str_is_nocase(padding, "NONE"))) *found = MODE_GCM;
    if (*found != MODE_COUNT) return NULL;
    return NL_RAISE(UNSUPPORTED_FEATURE__AES_MODE, NL_P_STR("mode", mode), NL_P_STR("padding", padding), NL_P("functionName", NAMES));
}

static nl_status check_key(const aes_call *call)
{
    if (call->key.length == 16 || call->key.length == 24 || call->key.length == 32) return NULL;
    return NL_RAISE(INVALID_PARAMETER_VALUE__AES_KEY_LENGTH, NL_P("parameter", "`key`"), NL_P("functionName", NAMES),
                    NL_P_INT("actualLength", (int64_t)call->key.length));
}

static nl_status check_call(const aes_call *call)
{
    static const char *const names[] = {"ECB", "CBC", "GCM"};
    const char *mode = names[call->mode];
    const char *name = call->is_encrypting ? "`aes_encrypt`" : "`aes_decrypt`";
    if (call->vector.length > 0 && call->mode == MODE_ECB)
        return NL_RAISE(UNSUPPORTED_FEATURE__AES_MODE_IV, NL_P("mode", mode), NL_P("functionName", name));
    if (call->vector.length > 0 && call->vector.length != vector_bytes[call->mode])
        return NL_RAISE(INVALID_PARAMETER_VALUE__AES_IV_LENGTH, NL_P("mode", mode), NL_P("parameter", "`iv`"),
                        NL_P("functionName", NAMES), NL_P_INT("actualLength", (int64_t)call->vector.length));
    if (call->extra.length > 0 && call->mode != MODE_GCM)
        return NL_RAISE(UNSUPPORTED_FEATURE__AES_MODE_AAD, NL_P("mode", mode), NL_P("functionName", name));
    return NULL;
}

static nl_status raise_crypto(const char *detail)
{
    return NL_RAISE(INVALID_PARAMETER_VALUE__AES_CRYPTO_ERROR, NL_P("parameter", "`expr`, `key`"), NL_P("functionName", NAMES),
                    NL_P("detailMessage", detail));
}

static const EVP_CIPHER *cipher_of(const aes_call *call)
{
    static const EVP_CIPHER *(*const ciphers[3][3])(void) = {
        {EVP_aes_128_ecb, EVP_aes_192_ecb, EVP_aes_256_ecb},
        {EVP_aes_128_cbc, EVP_aes_192_cbc, EVP_aes_256_cbc},
        {EVP_aes_128_gcm, EVP_aes_192_gcm, EVP_aes_256_gcm},
    };
    return ciphers[call->mode][(call->key.length - 16) / 8]();
}

/* Runs the cipher over `in` and appends what comes out. False: the input is not what the key made. */
static bool run_cipher(EVP_CIPHER_CTX *state, const aes_call *call, const uint8_t *vector, uint8_t *expected_tag, nl_str in,
                       nl_builder *out)
{
    const size_t step = 1u << 16;
    uint8_t block[(1u << 16) + 32];
    int length = 0;
    if (EVP_CipherInit_ex(state, cipher_of(call), NULL, (const uint8_t *)call->key.data, vector, call->is_encrypting) != 1) return false;
    if (expected_tag != NULL && EVP_CIPHER_CTX_ctrl(state, EVP_CTRL_GCM_SET_TAG, (int)TAG_BYTES, expected_tag) != 1) return false;
    if (call->extra.length > 0 &&
        EVP_CipherUpdate(state, NULL, &length, (const uint8_t *)call->extra.data, (int)call->extra.length) != 1)
        return false;
    for (size_t at = 0; at < in.length; at += step) {
        size_t count = NL_MIN(step, in.length - at);
        if (EVP_CipherUpdate(state, block, &length, (const uint8_t *)in.data + at, (int)count) != 1) return false;
        nl_append(out, (nl_str){(const char *)block, (size_t)length});
    }
    if (EVP_CipherFinal_ex(state, block, &length) != 1) return false;
    nl_append(out, (nl_str){(const char *)block, (size_t)length});
    return true;
}

static nl_status encrypt(EVP_CIPHER_CTX *state, const aes_call *call, nl_str in, nl_builder *out)
{
    uint8_t vector[VECTOR_MAX] = {0};
    uint8_t tag[TAG_BYTES];
    uint32_t count = vector_bytes[call->mode];
    if (call->vector.length > 0)
        memcpy(vector, call->vector.data, count);
    else if (count > 0 && RAND_bytes(vector, (int)count) != 1)
        return raise_crypto("no random bytes");
    nl_append(out, (nl_str){(const char *)vector, count});
    if (!run_cipher(state, call, vector, NULL, in, out)) return raise_crypto("the cipher failed");
    if (call->mode != MODE_GCM) return NULL;
    if (EVP_CIPHER_CTX_ctrl(state, EVP_CTRL_GCM_GET_TAG, (int)TAG_BYTES, tag) != 1) return raise_crypto("the cipher failed");
    nl_append(out, (nl_str){(const char *)tag, TAG_BYTES});
    return NULL;
}

static nl_status decrypt(EVP_CIPHER_CTX *state, const aes_call *call, nl_str in, nl_builder *out)
{
    uint8_t vector[VECTOR_MAX] = {0};
    uint8_t tag[TAG_BYTES];
    uint32_t count = vector_bytes[call->mode];
    uint32_t tag_count = call->mode == MODE_GCM ? TAG_BYTES : 0;
    if (in.length < count) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Invalid buffer arguments");
    if (in.length < count + tag_count) return raise_crypto("Input data too short to contain an expected tag length of 16bytes");
    memcpy(vector, in.data, count);
    if (tag_count > 0) memcpy(tag, in.data + in.length - tag_count, tag_count);
    if (run_cipher(state, call, vector, tag_count > 0 ? tag : NULL, nl_str_slice(in, count, in.length - tag_count), out)) return NULL;
    return raise_crypto(tag_count > 0 ? "Tag mismatch" : "Given final block not properly padded. Such issues can arise if a bad key is used during decryption.");
}

static nl_status aes_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    bool is_lenient = context->function->row->name[0] == 't';
    aes_call call = {.is_encrypting = strcmp(context->function->row->name, "aes_encrypt") == 0};
    call.key = nl_reader_str(&context->readers[1], row);
    if (call.is_encrypting) {
        call.vector = argument(context, 4, row, NL_STR(""));
        call.extra = argument(context, 5, row, NL_STR(""));
    } else {
        call.extra = argument(context, 4, row, NL_STR(""));
    }
    nl_str in = nl_reader_str(&context->readers[0], row);
    nl_status status = check_key(&call);
    if (status == NULL) status = find_mode(argument(context, 2, row, NL_STR("GCM")), argument(context, 3, row, NL_STR("DEFAULT")), &call.mode);
    if (status == NULL) status = check_call(&call);
    EVP_CIPHER_CTX *state = status == NULL ? EVP_CIPHER_CTX_new() : NULL;
    if (status == NULL && state == NULL) status = raise_crypto("no memory");
    if (status == NULL) status = call.is_encrypting ? encrypt(state, &call, in, &context->text) : decrypt(state, &call, in, &context->text);
    EVP_CIPHER_CTX_free(state);
    if (status == NULL || !is_lenient) return status;
    nl_error_free(status);
    *is_null = true;
    return NULL;
}
NL_TEXT_KERNEL(aes_kernel, aes_row)

#define ROW .kind = NL_FUNCTION_SCALAR, .group = "misc", .nulls = NL_NULL_IN_NULL_OUT

static const nl_function_row rows[] = {
    {.name = "aes_encrypt", ROW, .keeps_non_null = true, .can_fail = true, .is_nondeterministic = true,
     .signature = "(binary, binary [, string, string, binary, binary]) -> binary", .kernel = aes_kernel, .since = "3.3.0",
     .doc = "Bytes encrypted by AES with a key of 16, 24 or 32 bytes: mode, padding, initialization vector, authenticated data.",
     .examples = {{"hex(aes_encrypt('Spark', '1234567890abcdef', 'ECB', 'PKCS'))", "8DE7DB79A23F3E8ED530994DDEA98913"}}},
    {.name = "aes_decrypt", ROW, .keeps_non_null = true, .can_fail = true, .signature = "(binary, binary [, string, string, binary]) -> binary",
     .kernel = aes_kernel, .since = "3.3.0", .doc = "What aes_encrypt made of with the same key, mode, padding and authenticated data.",
     .examples = {{"aes_decrypt(unbase64('3lmwu+Mw0H3fi5NDvcu9lg=='), '1234567890abcdef', 'ECB', 'PKCS')", "Spark SQL"}}},
    {.name = "try_aes_decrypt", ROW, .signature = "(binary, binary [, string, string, binary]) -> binary", .kernel = aes_kernel, .since = "3.5.0",
     .doc = "As aes_decrypt, but NULL where that fails.",
     .examples = {{"try_aes_decrypt(unhex('6E7CA17BBB468D3084B5744BCA729FB7B2B7BCB8E4472847D02670489D95FA97DBBA7D3210'), '0000111122223333', 'GCM')", "Spark SQL"}}},
};

NL_DEFINE_FUNCTION_GROUP(aes, rows);
