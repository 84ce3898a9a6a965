/* scalar/reflect.c - reflect, java_method, try_reflect: static methods of Java's own classes, as far as people call them in
 * SQL. There is no JVM here: a method is a row of the table, and what has no row is not found.
 */
#include <math.h>
#include <stdlib.h>

#include "base/number.h"
#include "base/uuid.h"
#include "function/groups.h"
#include "function/java_math.h"

enum { ARGUMENTS_MAX = 4 };

/* Types of arguments, one letter each: Z boolean, B S I J integers, F D reals, T text. */
typedef struct argument {
    int64_t integer; /* Z too */
    double real;
    nl_str text;
} argument;

typedef bool (*method_body)(const argument *args, nl_builder *out); /* false: Java throws */

static void append_long(nl_builder *out, int64_t value)
{
    nl_append_int(out, value);
}

static void append_double(nl_builder *out, double value)
{
    char text[NL_NUMBER_TEXT_MAX];
    nl_append(out, (nl_str){text, nl_format_double(value, text)});
}

static void append_float(nl_builder *out, double value)
{
    char text[NL_NUMBER_TEXT_MAX];
    nl_append(out, (nl_str){text, nl_format_float((float)value, text)});
}

static void append_boolean(nl_builder *out, bool value)
{
    nl_append_c(out, value ? "true" : "false");
}

#define X args[0].integer
#define Y args[1].integer
#define R args[0].real
#define Q args[1].real
#define METHOD(name, append, value)                                            \
    static bool name(NL_UNUSED const argument *args, nl_builder *out)          \
    {                                                                          \
        append(out, value);                                                    \
        return true;                                                           \
    }

METHOD(abs_int, append_long, (int32_t)(X < 0 ? 0u - (uint32_t)X : (uint32_t)X))
METHOD(abs_long, append_long, (int64_t)(X < 0 ? 0ull - (uint64_t)X : (uint64_t)X))
METHOD(abs_double, append_double, fabs(R))
METHOD(abs_float, append_float, fabs(R))
METHOD(max_long, append_long, NL_MAX(X, Y))
METHOD(min_long, append_long, NL_MIN(X, Y))
METHOD(max_double, append_double, isnan(R) || isnan(Q) ? (double)NAN : fmax(R, Q))
METHOD(min_double, append_double, isnan(R) || isnan(Q) ? (double)NAN : fmin(R, Q))
METHOD(max_float, append_float, isnan(R) || isnan(Q) ? (double)NAN : fmax(R, Q))
METHOD(min_float, append_float, isnan(R) || isnan(Q) ? (double)NAN : fmin(R, Q))
METHOD(square_root, append_double, sqrt(R))
METHOD(cube_root, append_double, cbrt(R))
METHOD(power, append_double, pow(R, Q))
METHOD(floor_double, append_double, floor(R))
METHOD(ceil_double, append_double, ceil(R))
METHOD(rint_double, append_double, rint(R))
METHOD(sine, append_double, sin(R))
METHOD(cosine, append_double, cos(R))
METHOD(tangent, append_double, tan(R))
METHOD(exponential, append_double, nl_java_exp(R))
METHOD(logarithm, append_double, nl_java_log(R))
METHOD(logarithm10, append_double, nl_java_log10(R))
METHOD(hypotenuse, append_double, hypot(R, Q))
METHOD(sign_double, append_double, R > 0 ? 1.0 : R < 0 ? -1.0 : R)
METHOD(sum_int, append_long, (int32_t)((uint32_t)X + (uint32_t)Y))
METHOD(sum_long, append_long, (int64_t)((uint64_t)X + (uint64_t)Y))
METHOD(sum_double, append_double, R + Q)
METHOD(compare_long, append_long, (X > Y) - (X < Y))
METHOD(sign_long, append_long, (X > 0) - (X < 0))
METHOD(bits_int, append_long, __builtin_popcount((uint32_t)X))
METHOD(bits_long, append_long, __builtin_popcountll((uint64_t)X))
METHOD(text_long, append_long, X)
METHOD(text_double, append_double, R)
METHOD(text_float, append_float, R)
METHOD(text_boolean, append_boolean, X != 0)
METHOD(text_text, nl_append, args[0].text)
METHOD(is_nan, append_boolean, isnan(R))
METHOD(is_infinite, append_boolean, isinf(R))
METHOD(parse_boolean, append_boolean, nl_str_is_nocase(args[0].text, "true"))

static int64_t clamp(double value, int64_t min, int64_t max)
{
    if (isnan(value)) return 0;
    if (value <= (double)min) return min;
    return value >= (double)max ? max : (int64_t)value;
}
METHOD(round_double, append_long, clamp(floor(R + 0.5), INT64_MIN, INT64_MAX))
METHOD(round_float, append_long, clamp(floor(R + 0.5), INT32_MIN, INT32_MAX))

static bool floor_mod(const argument *args, nl_builder *out)
{
    if (Y == 0) return false;
    const int64_t remainder = Y == -1 ? 0 : X % Y;
    append_long(out, remainder != 0 && (remainder < 0) != (Y < 0) ? remainder + Y : remainder);
    return true;
}

static void append_digits(nl_builder *out, uint64_t value, uint32_t base)
{
    char digits[64];
    uint32_t at = sizeof digits;
    do digits[--at] = "0123456789abcdefghijklmnopqrstuvwxyz"[value % base];
    while (value /= base);
    nl_append(out, (nl_str){digits + at, sizeof digits - at});
}
#undef METHOD
#define DIGITS(name, bits, base)                                               \
    static bool name(const argument *args, nl_builder *out)                    \
    {                                                                          \
        append_digits(out, (uint##bits##_t)X, base);                           \
        return true;                                                           \
    }
DIGITS(hex_int, 32, 16)
DIGITS(binary_int, 32, 2)
DIGITS(octal_int, 32, 8)
DIGITS(hex_long, 64, 16)
DIGITS(binary_long, 64, 2)
DIGITS(octal_long, 64, 8)

static bool parse_radix(nl_str text, int64_t base, int64_t min, int64_t max, nl_builder *out)
{
    const bool is_negative = text.length > 1 && text.data[0] == '-';
    nl_int128 value = 0;
    size_t i = text.length > 1 && (text.data[0] == '-' || text.data[0] == '+');
    if (text.length == 0 || base < 2 || base > 36) return false;
    for (; i < text.length; i++) {
        const char c = text.data[i];
        const int64_t digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'z' ? (c | 32) - 'a' + 10 : 99;
        if (digit >= base) return false;
        value = value * base + digit;
        if (value > (nl_int128)INT64_MAX + 1) return false;
    }
    if (is_negative) value = -value;
    if (value < min || value > max) return false;
    append_long(out, (int64_t)value);
    return true;
}

static bool parse_int(const argument *args, nl_builder *out)
{
    return parse_radix(args[0].text, 10, INT32_MIN, INT32_MAX, out);
}

static bool parse_int_radix(const argument *args, nl_builder *out)
{
    return parse_radix(args[0].text, args[1].integer, INT32_MIN, INT32_MAX, out);
}

static bool parse_long(const argument *args, nl_builder *out)
{
    return parse_radix(args[0].text, 10, INT64_MIN, INT64_MAX, out);
}

static bool parse_long_radix(const argument *args, nl_builder *out)
{
    return parse_radix(args[0].text, args[1].integer, INT64_MIN, INT64_MAX, out);
}

static bool parse_double(const argument *args, nl_builder *out)
{
    double value;
    if (!nl_parse_double(args[0].text, &value)) return false;
    append_double(out, value);
    return true;
}

/* Five hexadecimal numbers between dashes, of which the low bits count, as java.util.UUID reads them. */
static bool parse_uuid(const argument *args, nl_builder *out)
{
    static const uint8_t widths[] = {8, 4, 4, 4, 12};
    nl_str rest = args[0].text;
    nl_str part;
    uint32_t count = 0;
    if (rest.length > 36) return false;
    while (nl_str_next_part(&rest, '-', &part)) {
        uint64_t value = 0;
        if (count == NL_COUNT(widths) || part.length == 0) return false;
        for (size_t i = 0; i < part.length; i++) {
            const char c = part.data[i];
            const uint64_t digit = c >= '0' && c <= '9' ? (uint64_t)(c - '0') : (c | 32) >= 'a' && (c | 32) <= 'f' ? (uint64_t)((c | 32) - 'a' + 10) : 99;
            if (digit > 15) return false;
            value = value << 4 | digit;
        }
        value &= (1ull << (4 * widths[count])) - 1;
        nl_append_f(out, "%s%0*llx", count ? "-" : "", widths[count], (unsigned long long)value);
        count++;
    }
    return count == NL_COUNT(widths);
}

static bool make_uuid(NL_UNUSED const argument *args, nl_builder *out)
{
    uint8_t bytes[16];
    char text[NL_UUID_TEXT_LENGTH];
    nl_uuid_new(bytes);
    nl_uuid_format(bytes, text);
    nl_append(out, (nl_str){text, sizeof text});
    return true;
}

static bool require(const argument *args, nl_builder *out)
{
    if (X) nl_append_c(out, "()"); /* Scala's unit */
    return X != 0;
}

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;
}

static bool decode_url(const argument *args, nl_builder *out)
{
    const nl_str text = args[0].text;
    for (size_t i = 0; i < text.length; i++) {
        if (text.data[i] != '%') {
            nl_append_char(out, text.data[i] == '+' ? ' ' : text.data[i]);
            continue;
        }
        if (i + 2 >= text.length || hex_digit(text.data[i + 1]) < 0 || hex_digit(text.data[i + 2]) < 0) return false;
        nl_append_char(out, (char)(hex_digit(text.data[i + 1]) << 4 | hex_digit(text.data[i + 2])));
        i += 2;
    }
    return true;
}

static bool encode_url(const argument *args, nl_builder *out)
{
    for (size_t i = 0; i < args[0].text.length; i++) {
        const char c = args[0].text.data[i];
        const bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c && strchr(".-*_", c));
        if (is_plain)
            nl_append_char(out, c);
        else if (c == ' ')
            nl_append_char(out, '+');
        else
            nl_append_f(out, "%%%02X", (uint8_t)c);
    }
    return true;
}

static const struct method {
    const char *class_name, *name, *types;
    method_body body;
} methods[] = {
    {"java.lang.Math", "abs", "I", abs_int}, {"java.lang.Math", "abs", "J", abs_long}, {"java.lang.Math", "abs", "D", abs_double},
    {"java.lang.Math", "abs", "F", abs_float}, {"java.lang.Math", "max", "II", max_long}, {"java.lang.Math", "max", "JJ", max_long},
    {"java.lang.Math", "max", "DD", max_double}, {"java.lang.Math", "max", "FF", max_float}, {"java.lang.Math", "min", "II", min_long},
    {"java.lang.Math", "min", "JJ", min_long}, {"java.lang.Math", "min", "DD", min_double}, {"java.lang.Math", "min", "FF", min_float},
    {"java.lang.Math", "sqrt", "D", square_root}, {"java.lang.Math", "cbrt", "D", cube_root}, {"java.lang.Math", "pow", "DD", power},
    {"java.lang.Math", "floor", "D", floor_double}, {"java.lang.Math", "ceil", "D", ceil_double}, {"java.lang.Math", "rint", "D", rint_double},
    {"java.lang.Math", "round", "D", round_double}, {"java.lang.Math", "round", "F", round_float}, {"java.lang.Math", "sin", "D", sine},
    {"java.lang.Math", "cos", "D", cosine}, {"java.lang.Math", "tan", "D", tangent}, {"java.lang.Math", "exp", "D", exponential},
    {"java.lang.Math", "log", "D", logarithm}, {"java.lang.Math", "log10", "D", logarithm10}, {"java.lang.Math", "hypot", "DD", hypotenuse},
    {"java.lang.Math", "signum", "D", sign_double}, {"java.lang.Math", "floorMod", "II", floor_mod}, {"java.lang.Math", "floorMod", "JJ", floor_mod},
    {"java.lang.Integer", "valueOf", "T", parse_int}, {"java.lang.Integer", "valueOf", "TI", parse_int_radix}, {"java.lang.Integer", "valueOf", "I", text_long},
    {"java.lang.Integer", "parseInt", "T", parse_int}, {"java.lang.Integer", "parseInt", "TI", parse_int_radix}, {"java.lang.Integer", "toString", "I", text_long},
    {"java.lang.Integer", "toHexString", "I", hex_int}, {"java.lang.Integer", "toBinaryString", "I", binary_int}, {"java.lang.Integer", "toOctalString", "I", octal_int},
    {"java.lang.Integer", "max", "II", max_long}, {"java.lang.Integer", "min", "II", min_long}, {"java.lang.Integer", "sum", "II", sum_int},
    {"java.lang.Integer", "compare", "II", compare_long}, {"java.lang.Integer", "signum", "I", sign_long}, {"java.lang.Integer", "bitCount", "I", bits_int},
    {"java.lang.Long", "valueOf", "T", parse_long}, {"java.lang.Long", "valueOf", "TI", parse_long_radix}, {"java.lang.Long", "valueOf", "J", text_long},
    {"java.lang.Long", "parseLong", "T", parse_long}, {"java.lang.Long", "parseLong", "TI", parse_long_radix}, {"java.lang.Long", "toString", "J", text_long},
    {"java.lang.Long", "toHexString", "J", hex_long}, {"java.lang.Long", "toBinaryString", "J", binary_long}, {"java.lang.Long", "toOctalString", "J", octal_long},
    {"java.lang.Long", "max", "JJ", max_long}, {"java.lang.Long", "min", "JJ", min_long}, {"java.lang.Long", "sum", "JJ", sum_long},
    {"java.lang.Long", "compare", "JJ", compare_long}, {"java.lang.Long", "signum", "J", sign_long}, {"java.lang.Long", "bitCount", "J", bits_long},
    {"java.lang.Double", "valueOf", "T", parse_double}, {"java.lang.Double", "valueOf", "D", text_double}, {"java.lang.Double", "parseDouble", "T", parse_double},
    {"java.lang.Double", "toString", "D", text_double}, {"java.lang.Double", "isNaN", "D", is_nan}, {"java.lang.Double", "isInfinite", "D", is_infinite},
    {"java.lang.Double", "max", "DD", max_double}, {"java.lang.Double", "min", "DD", min_double}, {"java.lang.Double", "sum", "DD", sum_double},
    {"java.lang.Boolean", "parseBoolean", "T", parse_boolean}, {"java.lang.Boolean", "valueOf", "T", parse_boolean}, {"java.lang.Boolean", "toString", "Z", text_boolean},
    {"java.lang.String", "valueOf", "I", text_long}, {"java.lang.String", "valueOf", "J", text_long}, {"java.lang.String", "valueOf", "D", text_double},
    {"java.lang.String", "valueOf", "F", text_float}, {"java.lang.String", "valueOf", "Z", text_boolean}, {"java.lang.String", "valueOf", "T", text_text},
    {"java.util.UUID", "fromString", "T", parse_uuid}, {"java.util.UUID", "randomUUID", "", make_uuid}, {"java.net.URLDecoder", "decode", "T", decode_url}, {"java.net.URLDecoder", "decode", "TT", decode_url},
    {"scala.Predef", "require", "Z", require}, {"java.net.URLEncoder", "encode", "T", encode_url}, {"java.net.URLEncoder", "encode", "TT", encode_url},
    {"java.lang.Object", NULL, "", NULL}, {"java.lang.System", NULL, "", NULL}, {"java.util.Date", NULL, "", NULL},
};

static nl_status take_name(nl_bind *bind, uint32_t i, const char *input, const char *expression, nl_str *name)
{
    NL_TRY(nl_bind_only_string(bind, i));
    const nl_value *value = bind->constants ? bind->constants[i] : NULL;
    if (value == NULL) return nl_bind_not_foldable(bind, i, input);
    if (value->is_null)
        return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_NULL, NL_P_STR("sqlExpr", nl_quoted(bind->arena, nl_bind_call_sql(bind))), NL_P("exprName", expression));
    *name = value->text;
    return NULL;
}

static char letter_of(const nl_type *type)
{
    static const char letters[NL_TYPE_COUNT] = {
        [NL_TYPE_BOOLEAN] = 'Z', [NL_TYPE_TINYINT] = 'B', [NL_TYPE_SMALLINT] = 'S', [NL_TYPE_INT] = 'I',   [NL_TYPE_BIGINT] = 'J',
        [NL_TYPE_FLOAT] = 'F',   [NL_TYPE_DOUBLE] = 'D',  [NL_TYPE_STRING] = 'T'};
    return letters[type->id];
}

static nl_status find_method(nl_bind *bind, nl_str class_name, nl_str name, const char *types, const struct method **found)
{
    bool has_class = false;
    for (size_t i = 0; i < NL_COUNT(methods); i++) {
        if (!nl_str_is(class_name, methods[i].class_name)) continue;
        has_class = true;
        if (!methods[i].name || !nl_str_is(name, methods[i].name) || strcmp(types, methods[i].types) != 0) continue;
        *found = &methods[i];
        return NULL;
    }
    const nl_str sql = nl_quoted(bind->arena, nl_bind_call_sql(bind));
    if (!has_class) return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_CLASS_TYPE, NL_P_STR("sqlExpr", sql), NL_P_STR("className", class_name));
    return NL_RAISE(DATATYPE_MISMATCH__UNEXPECTED_STATIC_METHOD, NL_P_STR("sqlExpr", sql), NL_P_STR("methodName", name), NL_P_STR("className", class_name));
}

static nl_status bind_reflect(nl_bind *bind, nl_bound_function *bound)
{
    char types[ARGUMENTS_MAX + 1] = {0};
    nl_str class_name, name;
    const struct method *method = NULL;
    if (bind->row->name[0] == 't') bind->name = NL_STR("reflect"); /* which Spark makes of it */
    if (bind->argument_count < 2) return nl_bind_wrong_count(bind, NL_STR("> 1"));
    NL_TRY(take_name(bind, 0, "class", "`class`", &class_name));
    NL_TRY(take_name(bind, 1, "method", "`method`", &name));
    for (uint32_t i = 2; i < bind->argument_count; i++) {
        if (bind->argument_types[i]->id == NL_TYPE_NULL) bind->argument_types[i] = nl_type_string();
        const char letter = letter_of(bind->argument_types[i]);
        if (!letter)
            return nl_bind_unexpected_type(bind, i, "(\"BOOLEAN\" or \"TINYINT\" or \"SMALLINT\" or \"INT\" or \"BIGINT\" or \"FLOAT\" or \"DOUBLE\" or \"STRING\")");
        if (i - 2 < ARGUMENTS_MAX) types[i - 2] = letter;
    }
    NL_TRY(find_method(bind, class_name, name, bind->argument_count - 2 > ARGUMENTS_MAX ? "?" : types, &method));
    bound->state = method;
    bound->is_nullable = true;
    return NULL;
}

static argument read_argument(const nl_row_context *context, uint32_t row, uint32_t i, char letter)
{
    const nl_reader *reader = &context->readers[i];
    const uint32_t index = nl_reader_index(reader, row);
    const nl_physical physical = context->function->argument_types[i]->physical;
    if (letter == 'T') return (argument){.text = nl_reader_str(reader, row)};
    if (letter == 'F' || letter == 'D') return (argument){.real = nl_physical_f64(physical, reader->values, index)};
    return (argument){.integer = nl_physical_i64(physical, reader->values, index)};
}

static nl_status reflect_row(nl_row_context *context, uint32_t row, bool *is_null)
{
    const struct method *method = context->function->state;
    argument args[ARGUMENTS_MAX] = {{0}};
    for (uint32_t i = 0; method->types[i]; i++) args[i] = read_argument(context, row, i + 2, method->types[i]);
    if (method->body(args, &context->text)) return NULL;
    *is_null = context->function->row->name[0] == 't';
    return *is_null ? NULL : NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "%s.%s refuses its arguments.", method->class_name, method->name);
}
NL_TEXT_KERNEL(reflect_kernel, reflect_row)

#define ROW .kind = NL_FUNCTION_SCALAR, .group = "misc", .nulls = NL_NULL_IN_NULL_OUT, .can_fail = true, .is_nondeterministic = true, .signature = "(any...) -> string", .bind = bind_reflect, .kernel = reflect_kernel

static const nl_function_row rows[] = {
    {.name = "reflect", .aliases = "java_method", ROW, .since = "2.0.0",
     .doc = "A static method of a class of Java's: the usual ones of Math, Integer, Long, Double, Boolean, String, UUID, URLDecoder and URLEncoder.",
     .examples = {{"reflect('java.util.UUID', 'fromString', 'a5cf6c42-0c85-418f-af6c-3e4e5b1328f2')", "a5cf6c42-0c85-418f-af6c-3e4e5b1328f2"}}},
    {.name = "try_reflect", ROW, .since = "4.0.0", .doc = "As reflect; NULL where the method refuses its arguments.",
     .examples = {{"try_reflect('java.net.URLDecoder', 'decode', '%')", "NULL"}}},
};

NL_DEFINE_FUNCTION_GROUP(reflect, rows);
