/* lakehouse/dashboard/assets.c - the files of page/, put into the program by the assembler. */
#include "lakehouse/dashboard/dashboard_private.h"

#define EMBED(name, file)                                                                                      \
    __asm__(".pushsection .rodata\n"                                                                          \
            ".balign 16\n" #name "_begin:\n"                                                                  \
            ".incbin \"" NL_DASHBOARD_PAGE "/" file "\"\n" #name "_end:\n"                                     \
            ".byte 0\n"                                                                                       \
            ".popsection\n");                                                                                 \
    extern const char name##_begin[] __attribute__((visibility("hidden")));                                    \
    extern const char name##_end[] __attribute__((visibility("hidden")))

EMBED(nl_page_html, "index.html");
EMBED(nl_page_css, "dashboard.css");
EMBED(nl_page_js, "dashboard.js");
EMBED(nl_page_icon, "icon.svg");

bool nl_dashboard_asset(nl_str path, nl_str *content, const char **content_type)
{
    const struct {
        const char *path, *begin, *end, *content_type;
    } assets[] = {
        {"/", nl_page_html_begin, nl_page_html_end, "text/html; charset=utf-8"},
        {"/dashboard.css", nl_page_css_begin, nl_page_css_end, "text/css; charset=utf-8"},
        {"/dashboard.js", nl_page_js_begin, nl_page_js_end, "text/javascript; charset=utf-8"},
        {"/icon.svg", nl_page_icon_begin, nl_page_icon_end, "image/svg+xml"},
    };
    for (size_t i = 0; i < NL_COUNT(assets); i++) {
        if (!nl_str_is(path, assets[i].path)) continue;
        *content = (nl_str){assets[i].begin, (size_t)(assets[i].end - assets[i].begin)};
        *content_type = assets[i].content_type;
        return true;
    }
    return false;
}
