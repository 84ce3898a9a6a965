/* base/datetime_pattern.c - compiling date-time patterns. Formatting and parsing are in the two files beside.
 *
 * The meaning of letters and counts is java.time.format.DateTimeFormatterBuilder.appendPattern's, after what Spark
 * forbids: week-based letters, letters that its old formatter lacked, five-letter texts, years of seven digits. Without
 * an era, y is the proleptic year.
 */
#include "base/datetime_legacy.h"

static const char *const months_full[] = {"",     "January", "February",  "March",   "April",    "May",     "June",
                                          "July", "August",  "September", "October", "November", "December"};
static const char *const months_short[] = {"",    "Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                           "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
static const char *const days_full[] = {"",         "Monday", "Tuesday",  "Wednesday",
                                        "Thursday", "Friday", "Saturday", "Sunday"};
static const char *const days_short[] = {"", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
static const char *const quarters_full[] = {"", "1st quarter", "2nd quarter", "3rd quarter", "4th quarter"};
static const char *const quarters_short[] = {"", "Q1", "Q2", "Q3", "Q4"};
static const char *const eras_full[] = {"Before Christ", "Anno Domini"};
static const char *const eras_short[] = {"BC", "AD"};
static const char *const halves[] = {"AM", "PM"};

const char *const *nl_datetime_texts(nl_datetime_field field, bool is_full, uint32_t *count)
{
    switch ((int)field) {
    case NL_DT_MONTH:
        *count = NL_COUNT(months_full);
        return is_full ? months_full : months_short;
    case NL_DT_WEEKDAY:
        *count = NL_COUNT(days_full);
        return is_full ? days_full : days_short;
    case NL_DT_QUARTER:
        *count = NL_COUNT(quarters_full);
        return is_full ? quarters_full : quarters_short;
    case NL_DT_ERA:
        *count = NL_COUNT(eras_full);
        return is_full ? eras_full : eras_short;
    default:
        NL_ASSERT(field == NL_DT_AMPM);
        *count = NL_COUNT(halves);
        return halves;
    }
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_one_of(char c, const char *set)
{
    return c != '\0' && strchr(set, c) != NULL;
}

static size_t run_length(nl_str pattern, size_t at)
{
    size_t end = at;
    while (end < pattern.length && pattern.data[end] == pattern.data[at])
        end++;
    return end - at;
}

/* Whether java.text.SimpleDateFormat, Spark 2's formatter, would take the pattern: then the message says so. */
static bool is_legacy_pattern(nl_str pattern)
{
    bool is_quoted = false;
    for (size_t i = 0; i < pattern.length; i++) {
        char c = pattern.data[i];
        if (c == '\'') is_quoted = !is_quoted;
        if (is_quoted || !is_letter(c)) continue;
        if (!is_one_of(c, "GyMLwWDdFEuaHkKhmsSzZXY")) return false;
        size_t length = run_length(pattern, i);
        if (c == 'X' && length > 3) return false;
        i += length - 1;
    }
    return !is_quoted;
}

/* Takes `problem`: what is wrong as java.time or Spark says it. */
static nl_status refuse(nl_str pattern, nl_status problem)
{
    if (!is_legacy_pattern(pattern)) return problem;
    nl_error_free(problem);
    nl_builder quoted;
    nl_builder_init(&quoted, pattern.length + 8);
    nl_append_f(&quoted, "'" NL_STR_FMT "'", NL_STR_ARG(pattern));
    nl_status status =
        NL_RAISE(INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_PATTERN_RECOGNITION,
                 NL_P_STR("pattern", nl_builder_str(&quoted)), NL_P("config", "\"spark.sql.legacy.timeParserPolicy\""),
                 NL_P("docroot", "https://spark.apache.org/docs/latest"));
    nl_builder_fini(&quoted);
    return status;
}

/* The part start … stop lies outside of quotes. Letters of weeks are refused before others. */
static nl_status check_letters(nl_str pattern, size_t start, size_t stop, bool is_parsing)
{
    for (size_t i = start; i < stop; i++)
        if (is_one_of(pattern.data[i], "YWwuec"))
            return NL_RAISE(INCONSISTENT_BEHAVIOR_CROSS_VERSION__DATETIME_WEEK_BASED_PATTERN,
                            NL_P_STR("c", nl_str_slice(pattern, i, i + 1)));
    for (size_t i = start; i < stop; i++)
        if (is_one_of(pattern.data[i], "ABnNp") || (is_parsing && is_one_of(pattern.data[i], "EFqQ")))
            return NL_RAISE(INVALID_DATETIME_PATTERN__ILLEGAL_CHARACTER, NL_P_STR("c", nl_str_slice(pattern, i, i + 1)),
                            NL_P_STR("pattern", pattern));
    return NULL;
}

/* What Spark forbids before java.time sees the pattern. *has_era: a G outside of quotes. */
static nl_status check_spark_rules(nl_str pattern, bool is_parsing, bool *has_era)
{
    bool is_quoted = false;
    *has_era = false;
    for (size_t start = 0, stop = 0; start < pattern.length; start = stop + 1, is_quoted = !is_quoted) {
        stop = NL_MIN(nl_str_find_char(pattern, '\'', start), pattern.length);
        if (is_quoted) continue;
        NL_TRY(check_letters(pattern, start, stop, is_parsing));
        *has_era |= nl_str_find_char(nl_str_slice(pattern, start, stop), 'G', 0) != NL_NOT_FOUND;
    }
    is_quoted = false;
    for (size_t i = 0; i < pattern.length; i += run_length(pattern, i)) {
        char c = pattern.data[i];
        size_t length = run_length(pattern, i);
        if (c == '\'' && length % 2) is_quoted = !is_quoted;
        size_t length_max = is_one_of(c, "GMLEQq") ? 4 : c == 'y' ? 6 : SIZE_MAX;
        if (!is_quoted && length > length_max)
            return NL_RAISE(INVALID_DATETIME_PATTERN__LENGTH,
                            NL_P_STR("pattern", nl_str_slice(pattern, i, i + length_max + 1)));
    }
    return NULL;
}

typedef struct compiler {
    nl_arena *arena;
    nl_str pattern;
    bool has_era;
    bool has_variable_fraction;
    nl_datetime_item *items;
    uint32_t count;
    uint32_t last_number; /* the number that adjacent ones lean on; UINT32_MAX: none */
    uint32_t open[NL_DATETIME_NESTING_MAX];
    uint32_t open_count;
    bool has_zone;
} compiler;

static nl_datetime_item *add(compiler *to, nl_datetime_item item)
{
    to->items[to->count] = item;
    return &to->items[to->count++];
}

/* Items that are no numbers end a run of adjacent ones. */
static void add_other(compiler *to, nl_datetime_item item)
{
    add(to, item);
    to->last_number = UINT32_MAX;
}

/* "yyyyMMdd": a number of variable width leaves to the fixed ones right behind it the digits they need. */
static void add_number(compiler *to, nl_datetime_item item)
{
    uint32_t place = to->count;
    bool has_fixed_width = item.min_width == item.max_width && item.sign == NL_SIGN_NEVER;
    if (to->last_number == UINT32_MAX) {
        to->last_number = place;
        add(to, item);
        return;
    }
    if (has_fixed_width) {
        nl_datetime_item *first = &to->items[to->last_number];
        first->following_width = (uint8_t)(first->following_width + item.max_width);
        add(to, item);
        return;
    }
    to->last_number = place;
    add(to, item);
}

static nl_datetime_item number(nl_datetime_field field, size_t min_width, size_t max_width, nl_datetime_sign sign)
{
    return (nl_datetime_item){.kind = NL_ITEM_NUMBER,
                              .field = field,
                              .min_width = (uint8_t)min_width,
                              .max_width = (uint8_t)max_width,
                              .sign = sign};
}

static nl_status too_many(char letter)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Too many pattern letters: %c", letter);
}

static nl_status add_year(compiler *to, size_t count)
{
    nl_datetime_field field = to->has_era ? NL_DT_YEAR_OF_ERA : NL_DT_YEAR;
    if (count == 2)
        add_number(to, (nl_datetime_item){
                           .kind = NL_ITEM_REDUCED, .field = field, .min_width = 2, .max_width = 2});
    else
        add_number(to, number(field, count, 19, count < 4 ? NL_SIGN_NORMAL : NL_SIGN_EXCEEDS));
    return NULL;
}

/* Fields that are a number for one or two letters and a text for more. */
static nl_status add_number_or_text(compiler *to, nl_datetime_field field, size_t count)
{
    if (count == 1)
        add_number(to, number(field, 1, 19, NL_SIGN_NORMAL));
    else if (count == 2)
        add_number(to, number(field, 2, 2, NL_SIGN_NEVER));
    else
        add_other(to, (nl_datetime_item){.kind = NL_ITEM_TEXT, .field = field, .is_full = count == 4});
    return NULL;
}

static nl_status add_text(compiler *to, nl_datetime_field field, size_t count)
{
    add_other(to, (nl_datetime_item){.kind = NL_ITEM_TEXT, .field = field, .is_full = count == 4});
    return NULL;
}

static nl_status add_two_digits(compiler *to, nl_datetime_field field, size_t count, char letter)
{
    if (count > 2) return too_many(letter);
    add_number(to, count == 1 ? number(field, 1, 19, NL_SIGN_NORMAL) : number(field, 2, 2, NL_SIGN_NEVER));
    return NULL;
}

static nl_status add_day_of_year(compiler *to, size_t count)
{
    if (count > 3) return too_many('D');
    if (count == 1)
        add_number(to, number(NL_DT_DAY_OF_YEAR, 1, 19, NL_SIGN_NORMAL));
    else
        add_number(to, number(NL_DT_DAY_OF_YEAR, count, 3, NL_SIGN_NEVER));
    return NULL;
}

static nl_status add_fraction(compiler *to, size_t count)
{
    if (count > 9)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Maximum width must be from 1 to 9 inclusive but was %zu", count);
    nl_datetime_item item = {.kind = NL_ITEM_FRACTION,
                             .field = NL_DT_NANO,
                             .min_width = (uint8_t)(to->has_variable_fraction ? 1 : count),
                             .max_width = (uint8_t)count};
    if (item.min_width == item.max_width)
        add_number(to, item);
    else
        add_other(to, item);
    return NULL;
}

static nl_status add_offset(compiler *to, char letter, size_t count)
{
    static const nl_datetime_offset_form forms[] = {NL_OFFSET_HH_MM_IF, NL_OFFSET_HHMM, NL_OFFSET_HH_MM,
                                                    NL_OFFSET_HHMM_SS_IF, NL_OFFSET_HH_MM_SS_IF};
    static const char *const zeros[] = {"+00", "+0000", "+00:00", "+0000", "+00:00"};
    if (count > 5) return too_many(letter);
    nl_datetime_item item = {.kind = NL_ITEM_OFFSET, .offset_form = forms[count - 1]};
    item.text = letter == 'X' ? NL_STR("Z") : nl_str_from(zeros[count - 1]);
    if (letter == 'Z' && count < 4) {
        item.offset_form = NL_OFFSET_HHMM;
        item.text = NL_STR("+0000");
    } else if (letter == 'Z' && count == 4) {
        item.kind = NL_ITEM_LOCAL_OFFSET;
        item.is_full = true;
    } else if (letter == 'Z') {
        item.text = NL_STR("Z");
    }
    add_other(to, item);
    to->has_zone = true;
    return NULL;
}

static nl_status add_zone(compiler *to, char letter, size_t count)
{
    nl_datetime_item item = {.is_full = count == 4};
    if (letter == 'V') {
        if (count != 2) return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Pattern letter count must be 2: V");
        item.kind = NL_ITEM_ZONE_ID;
    } else if (letter == 'z') {
        if (count > 4) return too_many('z');
        item.kind = NL_ITEM_ZONE_NAME;
    } else {
        if (count != 1 && count != 4)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Pattern letter count must be 1 or 4: O");
        item.kind = NL_ITEM_LOCAL_OFFSET;
    }
    add_other(to, item);
    to->has_zone = true;
    return NULL;
}

static nl_status add_letters(compiler *to, char letter, size_t count)
{
    switch (letter) {
    case 'G':
        return add_text(to, NL_DT_ERA, count);
    case 'y':
        return add_year(to, count);
    case 'M':
    case 'L':
        return add_number_or_text(to, NL_DT_MONTH, count);
    case 'Q':
    case 'q':
        return add_number_or_text(to, NL_DT_QUARTER, count);
    case 'd':
        return add_two_digits(to, NL_DT_DAY, count, letter);
    case 'D':
        return add_day_of_year(to, count);
    case 'E':
        return add_text(to, NL_DT_WEEKDAY, count);
    case 'F':
        if (count > 1) return too_many(letter);
        return add_two_digits(to, NL_DT_ALIGNED_DAY, count, letter);
    case 'a':
        return count > 1 ? too_many(letter) : add_text(to, NL_DT_AMPM, count);
    case 'h':
        return add_two_digits(to, NL_DT_CLOCK_HOUR_12, count, letter);
    case 'K':
        return add_two_digits(to, NL_DT_HOUR_12, count, letter);
    case 'k':
        return add_two_digits(to, NL_DT_CLOCK_HOUR_24, count, letter);
    case 'H':
        return add_two_digits(to, NL_DT_HOUR_24, count, letter);
    case 'm':
        return add_two_digits(to, NL_DT_MINUTE, count, letter);
    case 's':
        return add_two_digits(to, NL_DT_SECOND, count, letter);
    case 'S':
        return add_fraction(to, count);
    case 'V':
    case 'z':
    case 'O':
        return add_zone(to, letter, count);
    case 'X':
    case 'x':
    case 'Z':
        return add_offset(to, letter, count);
    default:
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Unknown pattern letter: %c", letter);
    }
}

/* From a quote: '' is a quote, inside as outside. *at moves behind. */
static nl_status add_quoted(compiler *to, size_t *at)
{
    nl_str pattern = to->pattern;
    size_t i = *at + 1;
    char *text = nl_arena_alloc(to->arena, pattern.length - *at);
    size_t length = 0;
    for (; i < pattern.length; i++) {
        if (pattern.data[i] == '\'') {
            if (i + 1 >= pattern.length || pattern.data[i + 1] != '\'') break;
            i++;
        }
        text[length++] = pattern.data[i];
    }
    if (i >= pattern.length)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Pattern ends with an incomplete string literal: " NL_STR_FMT,
                             NL_STR_ARG(pattern));
    if (i == *at + 1) text[length++] = '\'';
    add_other(to, (nl_datetime_item){.kind = NL_ITEM_LITERAL, .text = {text, length}});
    *at = i + 1;
    return NULL;
}

static nl_status close_optional(compiler *to)
{
    if (to->open_count == 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Pattern invalid as it contains ] without previous [");
    to->items[to->open[--to->open_count]].end = to->count;
    add_other(to, (nl_datetime_item){.kind = NL_ITEM_OPTIONAL_END});
    return NULL;
}

static nl_status add_character(compiler *to, size_t *at)
{
    char c = to->pattern.data[*at];
    if (c == '\'') return add_quoted(to, at);
    (*at)++;
    if (c == ']') return close_optional(to);
    if (c == '[') {
        if (to->open_count == NL_DATETIME_NESTING_MAX)
            return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Pattern nests more than %u optional parts",
                                 NL_DATETIME_NESTING_MAX);
        to->open[to->open_count++] = to->count;
        add_other(to, (nl_datetime_item){.kind = NL_ITEM_OPTIONAL});
        return NULL;
    }
    if (is_one_of(c, "{}#"))
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Pattern includes reserved character: '%c'", c);
    add_other(to, (nl_datetime_item){.kind = NL_ITEM_LITERAL, .text = nl_str_slice(to->pattern, *at - 1, *at)});
    return NULL;
}

static nl_status compile_items(compiler *to)
{
    for (size_t at = 0; at < to->pattern.length;) {
        char c = to->pattern.data[at];
        if (!is_letter(c)) {
            NL_TRY(add_character(to, &at));
            continue;
        }
        size_t count = run_length(to->pattern, at);
        NL_TRY(add_letters(to, c, count));
        at += count;
    }
    while (to->open_count > 0) /* a missing ] is forgiven */
        NL_TRY(close_optional(to));
    return NULL;
}

static nl_status compile_legacy(nl_str pattern, nl_arena *arena, const nl_datetime_pattern **compiled)
{
    NL_TRY(nl_legacy_check(pattern));
    nl_datetime_pattern *made = NL_NEW(arena, nl_datetime_pattern);
    *made = (nl_datetime_pattern){.is_legacy = true, .source = nl_arena_str(arena, pattern)};
    *compiled = made;
    return nl_arena_check(arena);
}

nl_status nl_datetime_compile(nl_str pattern, nl_datetime_use use, nl_arena *arena, const nl_datetime_pattern **compiled)
{
    if (use == NL_DATETIME_LEGACY) return compile_legacy(pattern, arena, compiled);
    compiler to = {.arena = arena,
                   .has_variable_fraction = use == NL_DATETIME_PARSE_TIMESTAMP,
                   .last_number = UINT32_MAX};
    to.pattern = nl_arena_str(arena, pattern);
    /* Every character makes at most one item; open optional parts end with one more each. */
    to.items = NL_NEW_ARRAY(arena, nl_datetime_item, nl_size_add(pattern.length, NL_DATETIME_NESTING_MAX));
    NL_TRY(nl_arena_check(arena));
    nl_status status = check_spark_rules(pattern, use != NL_DATETIME_FORMAT, &to.has_era);
    if (!status) status = compile_items(&to);
    if (status) return refuse(pattern, status);
    nl_datetime_pattern *made = NL_NEW(arena, nl_datetime_pattern);
    *made = (nl_datetime_pattern){
        .items = to.items, .count = to.count, .has_zone = to.has_zone, .source = to.pattern};
    NL_TRY(nl_arena_check(arena));
    *compiled = made;
    return NULL;
}

bool nl_datetime_has_zone(const nl_datetime_pattern *pattern)
{
    return pattern->has_zone;
}
