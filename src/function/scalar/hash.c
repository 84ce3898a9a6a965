/* scalar/hash.c - hash (murmur3), xxhash64, md5, sha, sha1, sha2, crc32.
 *
 * hash and xxhash64 fold the columns from the left with seed 42; a null leaves the hash as it is (Spark's HashExpression).
 */
#include <openssl/evp.h>

#include "base/hash.h"
#include "base/number.h"
#include "function/groups.h"
#include "function/scalar/hash.h"
#include "function/spark_hash.h"

/* A decimal of more than 18 digits as the bytes of Java's BigInteger: big-endian, as few as keep the sign. */
static uint32_t big_integer_bytes(nl_int128 value, uint8_t bytes[16])
{
    uint8_t all[16];
    for (uint32_t i = 0; i < 16; i++) all[i] = (uint8_t)((nl_uint128)value >> (8 * (15 - i)));
    uint32_t start = 0;
    while (start < 15 && ((all[start] == 0 && !(all[start + 1] & 0x80)) || (all[start] == 0xFF && (all[start + 1] & 0x80)))) start++;
    memcpy(bytes, all + start, 16 - start);
    return 16 - start;
}

typedef struct hasher {
    bool is_xx;
} hasher;

static uint64_t mix_int(const hasher *h, int32_t value, uint64_t seed)
{
    return h->is_xx ? nl_spark_xxhash64_int(value, seed) : nl_spark_murmur3_int(value, (uint32_t)seed);
}

static uint64_t mix_long(const hasher *h, int64_t value, uint64_t seed)
{
    return h->is_xx ? nl_spark_xxhash64_long(value, seed) : nl_spark_murmur3_long(value, (uint32_t)seed);
}

static uint64_t mix_bytes(const hasher *h, const void *data, size_t length, uint64_t seed)
{
    return h->is_xx ? nl_xxhash64(data, length, seed) : nl_spark_murmur3_bytes(data, length, (uint32_t)seed);
}

static uint64_t mix_real(const hasher *h, double value, bool is_float, uint64_t seed)
{
    if (is_float) {
        float narrow = value == 0 ? 0.0f : (float)value;
        uint32_t bits = 0x7FC00000u;
        if (narrow == narrow) memcpy(&bits, &narrow, sizeof bits);
        return mix_int(h, (int32_t)bits, seed);
    }
    if (value == 0) value = 0.0;
    uint64_t bits = 0x7FF8000000000000ull;
    if (value == value) memcpy(&bits, &value, sizeof bits);
    return mix_long(h, (int64_t)bits, seed);
}

static uint64_t mix_row(const hasher *h, const nl_vector *vector, uint32_t row, uint64_t seed)
{
    if (nl_vector_is_null(vector, row)) return seed;
    nl_reader in;
    nl_reader_init(&in, vector);
    uint32_t index = nl_reader_index(&in, row);
    const nl_vector *base = nl_vector_base(vector);
    switch (vector->type->physical) {
    case NL_PHYS_BOOL:
    case NL_PHYS_I8:
    case NL_PHYS_I16:
    case NL_PHYS_I32:
        return mix_int(h, (int32_t)nl_physical_i64(vector->type->physical, in.values, index), seed);
    case NL_PHYS_I64:
        return mix_long(h, ((const int64_t *)in.values)[index], seed);
    case NL_PHYS_I128: {
        uint8_t bytes[16];
        uint32_t length = big_integer_bytes(((const nl_int128 *)in.values)[index], bytes);
        return mix_bytes(h, bytes, length, seed);
    }
    case NL_PHYS_F32:
    case NL_PHYS_F64:
        return mix_real(h, nl_physical_f64(vector->type->physical, in.values, index), vector->type->physical == NL_PHYS_F32, seed);
    case NL_PHYS_STRING: {
        nl_str text = nl_view_str((const nl_string_view *)in.values + index);
        return mix_bytes(h, text.data, text.length, seed);
    }
    case NL_PHYS_INTERVAL: {
        const nl_interval *interval = (const nl_interval *)in.values + index;
        return mix_int(h, interval->months, mix_int(h, interval->days, mix_long(h, interval->micros, seed)));
    }
    case NL_PHYS_LIST: {
        nl_list_view list = ((const nl_list_view *)in.values)[index];
        for (uint32_t e = list.offset; e < list.offset + list.length; e++)
            for (uint32_t c = 0; c < base->child_count; c++) seed = mix_row(h, &base->children[c], e, seed);
        return seed;
    }
    case NL_PHYS_STRUCT:
        for (uint32_t c = 0; c < base->child_count; c++) seed = mix_row(h, &base->children[c], index, seed);
        return seed;
    case NL_PHYS_NONE:
        break;
    }
    return seed;
}

uint64_t nl_row_xxhash64(const nl_vector *vector, uint32_t row, uint64_t seed)
{
    static const hasher xx = {.is_xx = true};
    return mix_row(&xx, vector, row, seed);
}

void nl_spark_hash_rows(const nl_vector *columns, uint32_t column_count, uint32_t row_count, uint32_t *hashes)
{
    static const hasher murmur = {0};
    for (uint32_t row = 0; row < row_count; row++) {
        uint64_t hash = hashes[row];
        for (uint32_t i = 0; i < column_count; i++) hash = mix_row(&murmur, &columns[i], row, hash);
        hashes[row] = (uint32_t)hash;
    }
}

static nl_status hash_kernel(NL_KERNEL_PARAMETERS)
{
    hasher h = {.is_xx = function->row->name[0] == 'x'};
    nl_output output;
    NL_TRY(nl_output_init(&output, function->result_type, length, eval->memory, out));
    NL_EACH_SELECTED(row)
    {
        uint64_t hash = 42;
        for (uint32_t i = 0; i < function->argument_count; i++) hash = mix_row(&h, &args[i], row, hash);
        if (h.is_xx)
            ((int64_t *)output.values)[row] = (int64_t)hash;
        else
            ((int32_t *)output.values)[row] = (int32_t)(uint32_t)hash;
    }
    return NULL;
}

static bool holds(const nl_type *type, nl_type_id id)
{
    if (type->id == id) return true;
    for (uint32_t i = 0; i < type->child_count; i++)
        if (holds(type->children[i].type, id)) return true;
    return false;
}

static nl_status bind_hash(nl_bind *bind, nl_bound_function *bound)
{
    (void)bound;
    for (uint32_t i = 0; i < bind->argument_count; i++)
        if (holds(bind->argument_types[i], NL_TYPE_VARIANT))
            return NL_RAISE(DATATYPE_MISMATCH__HASH_VARIANT_TYPE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                            NL_P_STR("functionName", nl_quoted_name(bind)));
    for (uint32_t i = 0; i < bind->argument_count; i++)
        if (holds(bind->argument_types[i], NL_TYPE_MAP))
            return NL_RAISE(DATATYPE_MISMATCH__HASH_MAP_TYPE, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))),
                            NL_P_STR("functionName", nl_quoted_name(bind)));
    return NULL;
}

static nl_status digest(nl_row_context *context, const EVP_MD *method, nl_str bytes)
{
    uint8_t result[EVP_MAX_MD_SIZE];
    char text[EVP_MAX_MD_SIZE * 2];
    unsigned size = 0;
    if (EVP_Digest(bytes.data ? bytes.data : "", bytes.length, result, &size, method, NULL) != 1)
        return NL_RAISE_TEXT(INTERNAL_ERROR, "a digest could not be computed");
    nl_append(&context->text, (nl_str){text, nl_format_hex(result, size, false, text)});
    return NULL;
}

static nl_status md5_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    return digest(context, EVP_md5(), nl_reader_str(&context->readers[0], row));
}
NL_TEXT_KERNEL(md5_kernel, md5_row)

static nl_status sha1_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    (void)is_null;
    return digest(context, EVP_sha1(), nl_reader_str(&context->readers[0], row));
}
NL_TEXT_KERNEL(sha1_kernel, sha1_row)

static nl_status sha2_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    int32_t bits = nl_reader_i32(&context->readers[1], row);
    const EVP_MD *method = bits == 0 || bits == 256 ? EVP_sha256() : bits == 224 ? EVP_sha224() : bits == 384 ? EVP_sha384() : bits == 512 ? EVP_sha512() : NULL;
    *is_null = method == NULL;
    return method ? digest(context, method, nl_reader_str(&context->readers[0], row)) : NULL;
}
NL_TEXT_KERNEL(sha2_kernel, sha2_row)

#define CRC(text) nl_crc32((text).data, (text).length, 0)
NL_STRING_TO_VALUE_KERNEL(crc32_kernel, int64_t, CRC)

#define DIGEST .kind = NL_FUNCTION_SCALAR, .group = "hash", .nulls = NL_NULL_IN_NULL_OUT

static const nl_function_row rows[] = {
    {.name = "hash", .kind = NL_FUNCTION_SCALAR, .group = "hash", .nulls = NL_NULL_SEEN, .keeps_non_null = true, .signature = "(any...) -> int",
     .bind = bind_hash, .kernel = hash_kernel, .since = "2.0.0", .doc = "The Murmur3 hash of the arguments, seed 42.", .examples = {{"hash('Spark', array(123), 2)", "-1321691492"}}},
    {.name = "xxhash64", .kind = NL_FUNCTION_SCALAR, .group = "hash", .nulls = NL_NULL_SEEN, .keeps_non_null = true, .signature = "(any...) -> bigint",
     .bind = bind_hash, .kernel = hash_kernel, .since = "3.0.0", .doc = "The 64-bit xxHash of the arguments, seed 42.", .examples = {{"xxhash64('Spark', array(123), 2)", "5602566077635097486"}}},
    {.name = "md5", DIGEST, .keeps_non_null = true, .signature = "(binary) -> string", .kernel = md5_kernel, .since = "1.5.0", .doc = "The MD5 digest in hexadecimal.", .examples = {{"md5('Spark')", "8cde774d6f7333752ed72cacddb05126"}}},
    {.name = "sha", .aliases = "sha1", DIGEST, .keeps_non_null = true, .signature = "(binary) -> string", .kernel = sha1_kernel, .since = "1.5.0", .doc = "The SHA-1 digest in hexadecimal.", .examples = {{"sha('Spark')", "85f5955f4b27a9a4c2aab6ffe5d7189fc298b92c"}}},
    {.name = "sha2", DIGEST, .signature = "(binary, int) -> string", .kernel = sha2_kernel, .since = "1.5.0", .doc = "The SHA-2 digest of 224, 256, 384 or 512 bits in hexadecimal.", .examples = {{"sha2('Spark', 256)", "529bc3b07127ecb7e53a4dcf1991d9152c24537d919178022b2c42657f79a26b"}}},
    {.name = "crc32", DIGEST, .keeps_non_null = true, .signature = "(binary) -> bigint", .kernel = crc32_kernel, .since = "1.5.0", .doc = "The CRC-32 checksum.", .examples = {{"crc32('Spark')", "1557323817"}}},
};

NL_DEFINE_FUNCTION_GROUP(hash, rows);
