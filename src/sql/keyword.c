/* sql/keyword.c - keywords by text. A fixed open-addressing table (1,024 places, at most two steps past the first)
 * holds row numbers plus one of keywords.def; keyword_test.c computes the same table and prints it when keywords.def
 * has changed. */
#include "sql/token.h"

#define SLOT_COUNT 1024u

typedef struct keyword_row {
    const char *text;
    uint8_t length;
    bool is_join_word;
    bool is_ansi_reserved;
    uint16_t kind;
} keyword_row;

#define PLACE_FREE    false
#define PLACE_JOIN    true
#define ANSI_FREE     false
#define ANSI_RESERVED true

static const keyword_row rows[] = {
#define X(token, text, place, ansi)     {text, sizeof(text) - 1, PLACE_##place, ANSI_##ansi, NL_T_##token},
#define ALIAS(token, text, place, ansi) X(token, text, place, ansi)
#include "sql/keywords.def"
#undef X
#undef ALIAS
};

static const uint16_t slots[SLOT_COUNT] = {
    0, 0, 0, 0, 0, 80, 345, 0, 0, 15, 0, 0, 0, 0, 0, 0, 0, 0, 38, 0,
    22, 323, 0, 11, 107, 160, 0, 218, 0, 0, 0, 0, 0, 0, 0, 0, 0, 88, 0, 347,
    0, 0, 287, 210, 0, 110, 0, 0, 0, 0, 0, 0, 0, 23, 0, 0, 0, 0, 306, 0,
    0, 360, 0, 379, 0, 0, 0, 0, 273, 0, 0, 0, 266, 0, 108, 0, 0, 0, 204, 0,
    163, 0, 0, 0, 0, 0, 0, 0, 0, 0, 322, 18, 279, 180, 21, 221, 0, 0, 53, 0,
    229, 233, 356, 0, 17, 0, 240, 0, 0, 0, 170, 152, 206, 0, 0, 74, 128, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 92, 0, 0, 134, 0, 0, 231, 0, 271, 0, 0, 0,
    26, 0, 359, 0, 0, 0, 0, 0, 0, 290, 0, 0, 0, 0, 0, 0, 118, 162, 297, 0,
    0, 165, 0, 199, 31, 144, 0, 0, 0, 0, 0, 253, 95, 113, 254, 0, 85, 278, 0, 181,
    302, 0, 0, 0, 67, 326, 362, 0, 0, 29, 0, 205, 0, 244, 364, 0, 0, 192, 75, 0,
    0, 0, 60, 0, 0, 0, 0, 200, 0, 0, 0, 0, 0, 0, 0, 0, 106, 0, 346, 0,
    8, 25, 285, 28, 276, 0, 341, 101, 0, 0, 0, 0, 142, 222, 0, 238, 0, 0, 0, 211,
    0, 27, 252, 0, 0, 56, 0, 0, 0, 156, 0, 0, 259, 0, 0, 0, 0, 0, 35, 0,
    97, 0, 30, 0, 0, 0, 258, 19, 36, 0, 0, 0, 0, 215, 320, 0, 0, 0, 0, 0,
    0, 0, 0, 135, 0, 0, 0, 72, 217, 0, 0, 0, 0, 305, 0, 0, 0, 0, 150, 0,
    243, 177, 301, 0, 342, 0, 0, 0, 0, 0, 0, 0, 227, 0, 0, 16, 337, 0, 171, 0,
    335, 0, 0, 0, 0, 0, 0, 57, 0, 0, 0, 0, 0, 0, 0, 124, 0, 0, 0, 76,
    0, 9, 207, 0, 0, 0, 0, 0, 121, 0, 0, 0, 361, 0, 32, 288, 0, 329, 340, 0,
    283, 0, 213, 105, 167, 0, 0, 0, 0, 0, 0, 112, 224, 147, 0, 0, 0, 0, 0, 208,
    55, 0, 0, 194, 286, 232, 0, 0, 269, 0, 0, 126, 0, 146, 49, 0, 0, 0, 0, 0,
    10, 0, 0, 0, 0, 0, 0, 0, 0, 319, 0, 0, 325, 0, 0, 0, 0, 304, 0, 96,
    158, 0, 24, 264, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 251,
    0, 173, 0, 0, 0, 0, 0, 250, 0, 43, 0, 0, 0, 0, 0, 0, 0, 0, 179, 196,
    62, 245, 0, 0, 0, 0, 352, 0, 317, 0, 0, 86, 0, 0, 157, 183, 58, 123, 131, 0,
    0, 73, 84, 164, 0, 0, 166, 247, 0, 0, 270, 0, 0, 0, 209, 267, 0, 0, 0, 0,
    0, 0, 40, 0, 0, 260, 153, 197, 0, 0, 0, 0, 293, 0, 61, 0, 0, 46, 102, 0,
    81, 0, 82, 219, 357, 201, 139, 0, 0, 255, 0, 328, 0, 0, 0, 0, 228, 0, 246, 65,
    277, 0, 0, 0, 307, 0, 0, 0, 51, 256, 0, 0, 0, 45, 0, 309, 0, 71, 284, 0,
    0, 367, 87, 189, 195, 5, 0, 0, 0, 149, 0, 0, 0, 0, 0, 0, 0, 0, 373, 0,
    0, 0, 239, 0, 114, 381, 0, 130, 0, 0, 292, 132, 79, 344, 350, 372, 262, 0, 0, 0,
    0, 0, 0, 0, 91, 0, 0, 324, 115, 0, 0, 0, 0, 0, 0, 0, 0, 311, 89, 0,
    0, 12, 0, 0, 294, 0, 0, 0, 299, 0, 0, 0, 0, 13, 63, 0, 0, 0, 0, 0,
    0, 0, 0, 0, 214, 0, 0, 122, 0, 314, 0, 0, 0, 119, 0, 0, 0, 0, 0, 331,
    0, 37, 0, 33, 275, 316, 0, 0, 351, 0, 184, 235, 0, 0, 0, 0, 0, 308, 0, 0,
    0, 0, 220, 0, 0, 198, 0, 0, 111, 99, 338, 0, 0, 98, 125, 380, 0, 41, 0, 0,
    0, 148, 174, 0, 0, 0, 117, 120, 154, 261, 330, 0, 0, 0, 7, 0, 298, 0, 190, 0,
    0, 0, 0, 0, 0, 94, 0, 0, 0, 0, 0, 151, 0, 0, 0, 0, 0, 0, 0, 187,
    366, 0, 182, 4, 0, 0, 0, 0, 0, 0, 0, 223, 0, 0, 0, 0, 0, 0, 0, 0,
    145, 237, 0, 0, 0, 371, 0, 161, 0, 0, 103, 295, 0, 281, 0, 100, 0, 116, 0, 0,
    303, 0, 0, 137, 191, 69, 0, 265, 0, 0, 42, 0, 0, 0, 0, 0, 0, 155, 0, 274,
    1, 234, 0, 104, 0, 193, 377, 0, 0, 0, 249, 0, 176, 0, 0, 0, 0, 0, 54, 0,
    93, 0, 0, 0, 0, 0, 0, 0, 0, 52, 282, 378, 136, 140, 241, 0, 138, 236, 6, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 318, 0, 0, 216, 0, 343, 321, 0, 0, 0, 0,
    365, 0, 0, 0, 0, 334, 3, 212, 141, 203, 0, 0, 0, 0, 348, 0, 375, 0, 0, 0,
    0, 0, 0, 363, 0, 0, 83, 0, 296, 289, 376, 0, 50, 44, 332, 0, 0, 0, 0, 133,
    0, 0, 0, 0, 0, 0, 0, 354, 0, 0, 0, 0, 280, 0, 0, 168, 90, 358, 368, 0,
    370, 0, 0, 78, 0, 172, 0, 0, 66, 20, 263, 0, 0, 0, 0, 0, 257, 34, 14, 242,
    300, 0, 0, 0, 0, 0, 127, 339, 0, 0, 248, 0, 143, 0, 0, 333, 0, 0, 0, 0,
    374, 0, 129, 0, 0, 47, 0, 0, 178, 0, 313, 68, 291, 0, 0, 0, 59, 310, 327, 48,
    202, 109, 268, 369, 0, 169, 2, 315, 70, 0, 0, 64, 0, 0, 0, 39, 0, 230, 0, 0,
    0, 0, 272, 0, 77, 0, 175, 0, 0, 226, 336, 186, 0, 0, 159, 185, 355, 188, 225, 312,
    353, 0, 349, 0,
};

/* The hash is over the upper-case bytes; the multiplier was searched for short probes. */
static uint32_t hash_word(nl_str word)
{
    uint32_t hash = (uint32_t)word.length * 0x9E3779B1u;
    for (size_t i = 0; i < word.length; i++) {
        uint8_t c = (uint8_t)word.data[i];
        if (c >= 'a' && c <= 'z') c = (uint8_t)(c - 32);
        hash = (hash ^ c) * 0x266E9DEDu;
    }
    return (hash >> 16) & (SLOT_COUNT - 1);
}

static bool row_matches(const keyword_row *row, nl_str word)
{
    if (row->length != word.length) return false;
    for (size_t i = 0; i < word.length; i++) {
        char c = word.data[i];
        if (c >= 'a' && c <= 'z') c = (char)(c - 32);
        if (c != row->text[i]) return false;
    }
    return true;
}

nl_token_kind nl_keyword_find(nl_str word)
{
    if (word.length > 32) return NL_T_IDENTIFIER_WORD;
    for (uint32_t slot = hash_word(word); slots[slot] != 0; slot = (slot + 1) & (SLOT_COUNT - 1)) {
        const keyword_row *row = &rows[slots[slot] - 1];
        if (row_matches(row, word)) return (nl_token_kind)row->kind;
    }
    return NL_T_IDENTIFIER_WORD;
}

uint32_t nl_keyword_count(void)
{
    return NL_COUNT(rows);
}

nl_str nl_keyword_at(uint32_t i, nl_token_kind *kind)
{
    *kind = (nl_token_kind)rows[i].kind;
    return (nl_str){rows[i].text, rows[i].length};
}

bool nl_token_is_join_word(nl_token_kind kind)
{
    static const bool is_join_word[NL_T_COUNT] = {
#define X(token, text, place, ansi) [NL_T_##token] = PLACE_##place,
#define ALIAS(token, text, place, ansi)
#include "sql/keywords.def"
#undef X
#undef ALIAS
    };
    return is_join_word[kind];
}

bool nl_token_is_ansi_reserved(nl_token_kind kind)
{
    static const bool is_reserved[NL_T_COUNT] = {
#define X(token, text, place, ansi) [NL_T_##token] = ANSI_##ansi,
#define ALIAS(token, text, place, ansi)
#include "sql/keywords.def"
#undef X
#undef ALIAS
    };
    return is_reserved[kind];
}

const char *nl_token_text(nl_token_kind kind)
{
    static const char *const texts[NL_T_COUNT] = {
#define X(token, text, place, ansi) [NL_T_##token] = text,
#define ALIAS(token, text, place, ansi)
#include "sql/keywords.def"
#undef X
#undef ALIAS
        [NL_T_SEMICOLON] = ";",    [NL_T_LEFT_PAREN] = "(",   [NL_T_RIGHT_PAREN] = ")",
        [NL_T_COMMA] = ",",        [NL_T_DOT] = ".",          [NL_T_LEFT_BRACKET] = "[",
        [NL_T_RIGHT_BRACKET] = "]", [NL_T_BANG] = "!",        [NL_T_EQ] = "=",
        [NL_T_NULL_SAFE_EQ] = "<=>", [NL_T_NEQ] = "<>",       [NL_T_NEQ_BANG] = "!=",
        [NL_T_LT] = "<",           [NL_T_LTE] = "<=",         [NL_T_GT] = ">",
        [NL_T_GTE] = ">=",         [NL_T_SHIFT_LEFT] = "<<",  [NL_T_SHIFT_RIGHT] = ">>",
        [NL_T_SHIFT_RIGHT_UNSIGNED] = ">>>", [NL_T_PLUS] = "+", [NL_T_MINUS_SIGN] = "-",
        [NL_T_ASTERISK] = "*",     [NL_T_SLASH] = "/",        [NL_T_PERCENT_SIGN] = "%",
        [NL_T_TILDE] = "~",        [NL_T_AMPERSAND] = "&",    [NL_T_PIPE] = "|",
        [NL_T_CONCAT] = "||",      [NL_T_OPERATOR_PIPE] = "|>", [NL_T_HAT] = "^",
        [NL_T_COLON] = ":",        [NL_T_DOUBLE_COLON] = "::", [NL_T_ARROW] = "->",
        [NL_T_FAT_ARROW] = "=>",   [NL_T_HINT_START] = "/*+", [NL_T_HINT_END] = "*/",
        [NL_T_QUESTION] = "?",
    };
    return texts[kind] ? texts[kind] : "";
}
