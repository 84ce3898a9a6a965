/* scalar/sentences.c - sentences: a text cut into sentences and these into words, by the rules of Java's BreakIterator
 * for languages that part words with blanks. The language and the country make no difference here.
 */
#include <utf8proc.h>

#include "function/groups.h"

typedef struct character {
    uint32_t code;
    size_t next; /* offset behind it */
} character;

static character at(nl_str text, size_t offset)
{
    character c = {.next = offset};
    if (offset < text.length) c.code = nl_utf8_decode(text, &c.next);
    return c;
}

static bool is_letter(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_ME; /* marks belong to their letters */
}
static bool is_digit(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_ND;
}
static bool is_lower(uint32_t c)
{
    return utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_LL;
}
static bool is_blank(uint32_t c)
{
    return c == ' ' || (c >= '\t' && c <= '\r') || utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_ZS;
}
/* Quotes and brackets that end what a sentence's end stands in. */
static bool is_closing(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return c == '"' || c == '\'' || category == UTF8PROC_CATEGORY_PE || category == UTF8PROC_CATEGORY_PF || category == UTF8PROC_CATEGORY_PI;
}
static bool is_opening(uint32_t c)
{
    utf8proc_category_t category = utf8proc_category((utf8proc_int32_t)c);
    return c == '"' || c == '\'' || category == UTF8PROC_CATEGORY_PS || category == UTF8PROC_CATEGORY_PI;
}
/* Inside of a word between letters; inside of a number between digits. */
static bool joins_letters(uint32_t c)
{
    return c == '\'' || c == '.' || c == '"' || c == '-' || c == 0xAD || c == 0x2019 || c == 0x2010 || c == 0x2011 || c == 0x2027;
}
static bool joins_digits(uint32_t c)
{
    return c == '\'' || c == '.' || c == ',' || c == '"';
}

/* --- words --- */

/* The end of the word that starts with a letter or digit at `offset`. */
static size_t word_end(nl_str text, size_t offset)
{
    character c = at(text, offset);
    bool was_letter = is_letter(c.code);
    for (;;) {
        offset = c.next;
        c = at(text, offset);
        if (c.next == offset) return offset;
        if (is_letter(c.code) || is_digit(c.code)) {
            was_letter = is_letter(c.code);
            continue;
        }
        character behind = at(text, c.next);
        bool goes_on = behind.next > c.next && (was_letter ? joins_letters(c.code) && is_letter(behind.code)
                                                           : joins_digits(c.code) && is_digit(behind.code));
        if (goes_on) continue;
        bool is_unit = !was_letter && (c.code == '%' || c.code == 0xA2 || c.code == 0x2030);
        return is_unit ? c.next : offset;
    }
}

/* A currency sign or a point belongs to the number behind it, which then is no word. */
static bool leads_number(uint32_t c)
{
    return c == '$' || c == '.' || utf8proc_category((utf8proc_int32_t)c) == UTF8PROC_CATEGORY_SC;
}

static nl_status add_words(nl_str sentence, nl_column_builder *words, uint32_t *count)
{
    for (size_t offset = 0; offset < sentence.length;) {
        character c = at(sentence, offset);
        bool is_word = is_letter(c.code) || is_digit(c.code);
        if (!is_word) {
            character behind = at(sentence, c.next);
            bool is_number = leads_number(c.code) && behind.next > c.next && is_digit(behind.code);
            offset = is_number ? word_end(sentence, c.next) : c.next;
            continue;
        }
        size_t stop = word_end(sentence, offset);
        NL_TRY(nl_column_builder_str(words, nl_str_slice(sentence, offset, stop)));
        (*count)++;
        offset = stop;
    }
    return NULL;
}

/* --- sentences --- */

/* Behind a run of terminators: the sentence's end, or false when it goes on. A full stop ends one only before blanks
 * and something that is no small letter. */
static bool ends_sentence(nl_str text, size_t offset, bool is_full_stop, size_t *stop)
{
    character c = at(text, offset);
    while (c.next > offset && is_closing(c.code)) {
        offset = c.next;
        c = at(text, offset);
    }
    size_t before = offset;
    while (c.next > offset && is_blank(c.code)) {
        offset = c.next;
        c = at(text, offset);
    }
    *stop = offset;
    if (!is_full_stop || offset == text.length) return true;
    if (offset == before) return false;
    while (c.next > offset && is_opening(c.code)) {
        offset = c.next;
        c = at(text, offset);
    }
    return !is_lower(c.code);
}

static size_t sentence_end(nl_str text, size_t offset)
{
    while (offset < text.length) {
        character c = at(text, offset);
        offset = c.next;
        bool is_full_stop = c.code == '.';
        bool is_end = is_full_stop || c.code == '?' || c.code == '!' || c.code == 0x3002 || c.code == 0x2029;
        if (!is_end) continue;
        for (character more = at(text, offset); more.next > offset && (more.code == '.' || more.code == '?' || more.code == '!');
             more = at(text, offset)) {
            is_full_stop = is_full_stop && more.code == '.';
            offset = more.next;
        }
        size_t stop = 0;
        if (ends_sentence(text, offset, is_full_stop, &stop)) return stop;
    }
    return offset;
}

static nl_status add_sentences(nl_str text, nl_column_builder *builder)
{
    nl_column_builder *sentences = nl_column_builder_child(builder, 0);
    uint32_t sentence_count = 0;
    for (size_t offset = 0; offset < text.length; sentence_count++) {
        uint32_t word_count = 0;
        size_t stop = sentence_end(text, offset);
        NL_TRY(add_words(nl_str_slice(text, offset, stop), nl_column_builder_child(sentences, 0), &word_count));
        NL_TRY(nl_column_builder_end_list(sentences, word_count));
        offset = stop;
    }
    return nl_column_builder_end_list(builder, sentence_count);
}

static nl_status sentences_kernel(NL_KERNEL_PARAMETERS)
{
    nl_column_builder *builder = NULL;
    nl_reader texts;
    nl_status status = NULL;
    NL_TRY(nl_column_builder_new(function->result_type, eval->memory, &builder));
    nl_reader_init(&texts, &args[0]);
    for (uint32_t row = 0, next = 0; row < length; row++) {
        bool is_selected = next < selection.count && nl_selection_row(selection, next) == row;
        next += is_selected;
        bool is_null = !is_selected || nl_vector_is_null(&args[0], row);
        NL_GO(is_null ? nl_column_builder_null(builder) : add_sentences(nl_reader_str(&texts, row), builder));
    }
    status = nl_column_builder_finish(builder, out);
done:
    nl_column_builder_free(builder);
    return status;
}

static const nl_function_row rows[] = {
    {.name = "sentences", .kind = NL_FUNCTION_SCALAR, .group = "string", .nulls = NL_NULL_SEEN, .signature = "(string [, string, string]) -> array<array<string>>",
     .kernel = sentences_kernel, .since = "2.0.0", .doc = "The words of the sentences of a text.",
     .examples = {{"sentences('Hi there! Good morning.')", "[[\"Hi\",\"there\"],[\"Good\",\"morning\"]]"}}},
};

NL_DEFINE_FUNCTION_GROUP(sentences, rows);
