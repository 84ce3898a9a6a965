/* base/datetime_items.h - what a compiled date-time pattern consists of; internal to the datetime_pattern files. */
#pragma once

#include "base/datetime_pattern.h"

typedef enum nl_datetime_field {
    NL_DT_ERA, /* 0 BC, 1 AD */
    NL_DT_YEAR,
    NL_DT_YEAR_OF_ERA,
    NL_DT_MONTH,
    NL_DT_DAY,
    NL_DT_DAY_OF_YEAR,
    NL_DT_QUARTER,
    NL_DT_WEEKDAY,     /* ISO */
    NL_DT_ALIGNED_DAY, /* F: place of the day in runs of seven from the first of the month */
    NL_DT_AMPM,        /* 0, 1 */
    NL_DT_CLOCK_HOUR_12,
    NL_DT_HOUR_12,
    NL_DT_CLOCK_HOUR_24,
    NL_DT_HOUR_24,
    NL_DT_MINUTE,
    NL_DT_SECOND,
    NL_DT_NANO,
    NL_DT_FIELD_COUNT
} nl_datetime_field;

typedef enum nl_datetime_item_kind {
    NL_ITEM_LITERAL,
    NL_ITEM_NUMBER,
    NL_ITEM_REDUCED,  /* the last two digits of a year; read as 2000 … 2099 */
    NL_ITEM_FRACTION, /* of a second: min_width … max_width digits */
    NL_ITEM_TEXT,     /* names of months, days, quarters, eras, AM and PM */
    NL_ITEM_OFFSET,   /* X x Z */
    NL_ITEM_LOCAL_OFFSET, /* O: GMT+8 */
    NL_ITEM_ZONE_ID,
    NL_ITEM_ZONE_NAME,
    NL_ITEM_OPTIONAL, /* [; `end` is the index of its ] */
    NL_ITEM_OPTIONAL_END
} nl_datetime_item_kind;

typedef enum nl_datetime_sign {
    NL_SIGN_NEVER,  /* digits only */
    NL_SIGN_NORMAL, /* a minus when negative */
    NL_SIGN_EXCEEDS /* and a plus when there are more digits than min_width */
} nl_datetime_sign;

typedef enum nl_datetime_offset_form {
    NL_OFFSET_HH_MM_IF,  /* +HH, +HHmm when there are minutes */
    NL_OFFSET_HHMM,
    NL_OFFSET_HH_MM,     /* +HH:MM */
    NL_OFFSET_HHMM_SS_IF,
    NL_OFFSET_HH_MM_SS_IF
} nl_datetime_offset_form;

typedef struct nl_datetime_item {
    nl_datetime_item_kind kind;
    nl_datetime_field field;
    uint8_t min_width, max_width;
    nl_datetime_sign sign;
    uint8_t following_width;   /* digits that numbers of fixed width right behind need */
    bool is_full;              /* full texts and names, not short ones */
    nl_datetime_offset_form offset_form;
    nl_str text;               /* LITERAL; OFFSET: what stands for zero */
    uint32_t end;
} nl_datetime_item;

struct nl_datetime_pattern {
    nl_datetime_item *items;
    uint32_t count;
    bool has_zone;
    bool is_legacy; /* only source counts: datetime_legacy.h */
    nl_str source;
};

#define NL_DATETIME_NESTING_MAX 32u

/* English texts of a field, indexed by value; *count of them. Months and days start at 1. */
const char *const *nl_datetime_texts(nl_datetime_field field, bool is_full, uint32_t *count);
