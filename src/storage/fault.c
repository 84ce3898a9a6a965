/* storage/fault.c - a layer over another file system that fails when a plan says so.
 *
 * The layer cannot reach into the one below, so it acts out what a caller could see: a failing write or sync means the
 * output is gone and nothing was published; a lost reply means the work was done and an error of kind UNKNOWN_STATE
 * comes back. Every call below is preceded by one counted step, every publishing call also followed by one, which is
 * what a sweep walks through.
 */
#include "storage/fault.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/limits.h"
#include "base/lock.h"
#include "base/number.h"
#include "storage/filesystem_ops.h"
#include "storage/io_error.h"

typedef struct rule {
    nl_str operation; /* "local.fsync"; points into the plan's text */
    enum { AT_COUNT, AT_ANY, AFTER_BYTES } when;
    uint64_t number;
    nl_fault_effect effect;
    uint64_t met_count; /* guarded by the plan's mutex, as met_bytes */
    uint64_t met_bytes;
} rule;

struct nl_fault_plan {
    nl_mutex mutex;
    uint64_t step_count;    /* guarded by mutex */
    uint64_t failing_step;  /* guarded by mutex; 0: none */
    uint32_t rule_count;
    rule *rules; /* owned */
    char text[];
};

static const struct {
    const char *name;
    int number;
} errno_names[] = {
    {"EIO", EIO},       {"ENOSPC", ENOSPC}, {"EACCES", EACCES}, {"EPERM", EPERM},         {"EMFILE", EMFILE},
    {"ENFILE", ENFILE}, {"EROFS", EROFS},   {"EDQUOT", EDQUOT}, {"ETIMEDOUT", ETIMEDOUT}, {"ENOMEM", ENOMEM},
    {"ENOENT", ENOENT}, {"EEXIST", EEXIST}, {"EAGAIN", EAGAIN}, {"ECONNRESET", ECONNRESET},
};

static nl_status bad_rule(nl_str text)
{
    return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT,
                         "\"" NL_STR_FMT "\" is no fault rule; it should look like local.fsync:1=EIO.",
                         NL_STR_ARG(text));
}

/* "name(inside)" gives inside. */
static bool in_brackets(nl_str text, const char *name, nl_str *inside)
{
    size_t length = strlen(name);
    if (!nl_str_starts(text, nl_str_from(name)) || text.length < length + 2) return false;
    if (text.data[length] != '(' || text.data[text.length - 1] != ')') return false;
    *inside = nl_str_slice(text, length + 1, text.length - 1);
    return true;
}

/* A number with an optional unit from `units` ("KiB"), whose factor is applied. */
static bool read_amount(nl_str text, int64_t *amount)
{
    static const struct {
        const char *unit;
        int64_t factor;
    } units[] = {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"ms", 1}, {"s", 1000}};
    int64_t factor = 1;
    for (size_t i = 0; i < NL_COUNT(units); i++) {
        nl_str unit = nl_str_from(units[i].unit);
        if (!nl_str_ends(text, unit)) continue;
        factor = units[i].factor;
        text.length -= unit.length;
        break;
    }
    return nl_parse_int64(text, amount) && *amount >= 0 && !__builtin_mul_overflow(*amount, factor, amount);
}

static bool parse_when(nl_str text, rule *out)
{
    int64_t number = 0;
    nl_str inside;
    if (nl_str_is(text, "any")) {
        out->when = AT_ANY;
        return true;
    }
    if (in_brackets(text, "after", &inside)) {
        out->when = AFTER_BYTES;
        if (!read_amount(inside, &number)) return false;
    } else if (!nl_parse_int64(text, &number) || number < 1) {
        return false;
    }
    out->number = (uint64_t)number;
    return true;
}

static bool parse_effect(nl_str text, nl_fault_effect *out)
{
    nl_str inside;
    for (size_t i = 0; i < NL_COUNT(errno_names); i++)
        if (nl_str_is(text, errno_names[i].name)) {
            *out = (nl_fault_effect){NL_FAULT_ERRNO, errno_names[i].number};
            return true;
        }
    if (nl_str_is(text, "reset")) out->kind = NL_FAULT_RESET;
    else if (nl_str_is(text, "lost-reply")) out->kind = NL_FAULT_LOST_REPLY;
    else if (nl_str_is(text, "fail")) out->kind = NL_FAULT_FAIL;
    else if (in_brackets(text, "cut", &inside)) {
        out->kind = NL_FAULT_CUT;
        return read_amount(inside, &out->number);
    } else if (in_brackets(text, "late", &inside)) {
        out->kind = NL_FAULT_LATE;
        return read_amount(inside, &out->number);
    } else {
        out->kind = NL_FAULT_HTTP;
        return nl_parse_int64(text, &out->number) && out->number >= 100 && out->number <= 599;
    }
    return true;
}

static nl_status parse_rule(nl_str text, rule *out)
{
    size_t colon = nl_str_find_char(text, ':', 0);
    size_t equals = colon == NL_NOT_FOUND ? NL_NOT_FOUND : nl_str_find_char(text, '=', colon);
    if (equals == NL_NOT_FOUND || colon == 0) return bad_rule(text);
    *out = (rule){.operation = nl_str_trim(nl_str_slice(text, 0, colon))};
    bool is_good = parse_when(nl_str_trim(nl_str_slice(text, colon + 1, equals)), out) &&
                   parse_effect(nl_str_trim(nl_str_slice(text, equals + 1, text.length)), &out->effect);
    return is_good ? NULL : bad_rule(text);
}

nl_status nl_fault_plan_parse(nl_str text, nl_fault_plan **plan)
{
    nl_fault_plan *made = calloc(1, sizeof *made + text.length + 1);
    uint32_t rule_max = 1;
    for (size_t i = 0; i < text.length; i++) rule_max += text.data[i] == ';';
    rule *rules = calloc(rule_max, sizeof *rules);
    if (made == NULL || rules == NULL) {
        free(made);
        free(rules);
        return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)text.length),
                        NL_P_INT("receivedBytes", 0));
    }
    nl_mutex_init(&made->mutex);
    made->rules = rules;
    if (text.length > 0) memcpy(made->text, text.data, text.length);
    nl_str rest = {made->text, text.length};
    nl_status status = NULL;
    for (nl_str part; status == NULL && nl_str_next_part(&rest, ';', &part);) {
        part = nl_str_trim(part);
        if (part.length == 0) continue;
        rule *next = &made->rules[made->rule_count];
        status = parse_rule(part, next);
        if (status != NULL) break;
        if (nl_str_is(next->operation, "alloc"))
            nl_memory_fail_charge(next->number); /* belongs to the process, not to this plan */
        else
            made->rule_count++;
    }
    if (status != NULL)
        nl_fault_plan_free(made);
    else
        *plan = made;
    return status;
}

void nl_fault_plan_free(nl_fault_plan *plan)
{
    if (plan == NULL) return;
    nl_mutex_fini(&plan->mutex);
    free(plan->rules);
    free(plan);
}

uint64_t nl_fault_plan_steps(const nl_fault_plan *plan)
{
    nl_fault_plan *self = NL_UNCONST(plan);
    nl_mutex_lock(&self->mutex);
    uint64_t count = self->step_count;
    nl_mutex_unlock(&self->mutex);
    return count;
}

void nl_fault_plan_fail_step(nl_fault_plan *plan, uint64_t step)
{
    nl_mutex_lock(&plan->mutex);
    plan->failing_step = step == 0 ? 0 : plan->step_count + step;
    nl_mutex_unlock(&plan->mutex);
}

static bool strikes(rule *one, const char *operation, uint64_t byte_count)
{
    if (!nl_str_is(one->operation, operation)) return false;
    one->met_count++;
    one->met_bytes += byte_count;
    switch (one->when) {
    case AT_ANY: return true;
    case AT_COUNT: return one->met_count == one->number;
    case AFTER_BYTES: return one->met_bytes > one->number;
    }
    return false;
}

bool nl_fault_meet(nl_fault_plan *plan, const char *operation, uint64_t byte_count, nl_fault_effect *effect)
{
    if (plan == NULL) return false;
    nl_mutex_lock(&plan->mutex);
    plan->step_count++;
    bool has_met = plan->step_count == plan->failing_step;
    if (has_met) *effect = (nl_fault_effect){NL_FAULT_ERRNO, EIO};
    for (uint32_t i = 0; i < plan->rule_count; i++) /* all of them count, the first that strikes wins */
        if (strikes(&plan->rules[i], operation, byte_count) && !has_met) {
            *effect = plan->rules[i].effect;
            has_met = true;
        }
    nl_mutex_unlock(&plan->mutex);
    return has_met;
}

nl_status nl_fault_step(nl_fault_plan *plan, const char *operation, nl_str path, uint64_t byte_count)
{
    nl_fault_effect effect = {0};
    if (!nl_fault_meet(plan, operation, byte_count, &effect)) return NULL;
    if (effect.kind == NL_FAULT_ERRNO) return nl_raise_errno((int)effect.number, operation, path);
    nl_status status = nl_raise_io(operation, path, "failed on purpose (%lld)", (long long)effect.number);
    nl_error_set_kind(status, effect.kind == NL_FAULT_LOST_REPLY ? NL_KIND_UNKNOWN_STATE : NL_KIND_RETRY);
    return status;
}

/* A step behind finished work: whatever the plan says, the caller cannot know that it was done. */
static nl_status reply_step(nl_fault_plan *plan, const char *operation, nl_str path)
{
    nl_status status = nl_fault_step(plan, operation, path, 0);
    if (status != NULL) nl_error_set_kind(status, NL_KIND_UNKNOWN_STATE);
    return status;
}

enum operation {
    OPEN, READ, WRITE, FSYNC, PUBLISH, PUBLISHED, CREATE, CREATE_IF_ABSENT, CREATED, RENAME, RENAMED, REMOVE,
    REMOVE_TREE, MAKE_DIRECTORY, STAT, LIST, OPERATION_COUNT
};
static const char *const operation_words[OPERATION_COUNT] = {
    "open", "read", "write", "fsync", "publish", "published", "create", "create_if_absent", "created", "rename",
    "renamed", "remove", "remove_tree", "make_directory", "stat", "list",
};

typedef struct fault_fs {
    nl_fs base;
    nl_fs *below;        /* counted  */
    nl_fault_plan *plan; /* borrowed */
    char names[OPERATION_COUNT][40]; /* "local.fsync" */
} fault_fs;

static fault_fs *self_of(nl_fs *self)
{
    return NL_CONTAINER(self, fault_fs, base);
}

static nl_status step(const fault_fs *fs, enum operation operation, nl_str path)
{
    return nl_fault_step(fs->plan, fs->names[operation], path, 0);
}

typedef struct fault_file {
    nl_file base;
    nl_file *below; /* owned */
    fault_fs *fs;   /* counted */
} fault_file;

static nl_status fault_read(nl_file *self, uint64_t offset, size_t length, uint8_t *into)
{
    fault_file *file = NL_CONTAINER(self, fault_file, base);
    NL_TRY(nl_fault_step(file->fs->plan, file->fs->names[READ], self->path, length));
    return nl_file_read(file->below, offset, length, into);
}

static void fault_prefetch(nl_file *self, const nl_range *ranges, uint32_t range_count)
{
    nl_file_prefetch(NL_CONTAINER(self, fault_file, base)->below, ranges, range_count);
}

static void fault_close(nl_file *self)
{
    fault_file *file = NL_CONTAINER(self, fault_file, base);
    nl_file_close(file->below);
    nl_fs_release(&file->fs->base);
    free(file);
}

static const nl_file_ops fault_file_ops = {.read = fault_read, .prefetch = fault_prefetch, .close = fault_close};

static nl_status out_of_memory(size_t bytes)
{
    return NL_RAISE(UNABLE_TO_ACQUIRE_MEMORY, NL_P_INT("requestedBytes", (int64_t)bytes),
                    NL_P_INT("receivedBytes", 0));
}

static nl_status fault_open(nl_fs *self, nl_str path, nl_file **file)
{
    fault_fs *fs = self_of(self);
    NL_TRY(step(fs, OPEN, path));
    fault_file *opened = calloc(1, sizeof *opened);
    if (opened == NULL) return out_of_memory(sizeof *opened);
    nl_status status = nl_fs_open(fs->below, path, &opened->below);
    if (status != NULL) {
        free(opened);
        return status;
    }
    opened->base = (nl_file){
        .ops = &fault_file_ops, .path = opened->below->path, .size_bytes = opened->below->size_bytes};
    opened->fs = self_of(nl_fs_retain(self));
    *file = &opened->base;
    return NULL;
}

typedef struct fault_output {
    nl_output base;
    nl_output *below; /* owned */
    fault_fs *fs;     /* counted */
    size_t path_length;
    bool has_failed;
    char path[];
} fault_output;

static nl_str path_of(const fault_output *output)
{
    return (nl_str){output->path, output->path_length};
}

static void free_output(fault_output *output)
{
    nl_fs_release(&output->fs->base);
    free(output);
}

static nl_status fault_write(nl_output *self, const void *bytes, size_t length)
{
    fault_output *output = NL_CONTAINER(self, fault_output, base);
    nl_status status = nl_fault_step(output->fs->plan, output->fs->names[WRITE], path_of(output), length);
    if (status == NULL) status = nl_output_write(output->below, bytes, length);
    output->has_failed |= status != NULL;
    return status;
}

static nl_status fault_close_output(nl_output *self)
{
    fault_output *output = NL_CONTAINER(self, fault_output, base);
    nl_str path = path_of(output);
    nl_status status = output->has_failed ? nl_raise_io("Closing", path, "an earlier write failed") : NULL;
    if (status == NULL) status = step(output->fs, FSYNC, path);
    if (status == NULL) status = step(output->fs, PUBLISH, path);
    if (status != NULL) {
        nl_output_abort(output->below);
    } else {
        status = nl_output_close(output->below);
        if (status == NULL) status = reply_step(output->fs->plan, output->fs->names[PUBLISHED], path);
    }
    free_output(output);
    return status;
}

static void fault_abort(nl_output *self)
{
    fault_output *output = NL_CONTAINER(self, fault_output, base);
    nl_output_abort(output->below);
    free_output(output);
}

static const nl_output_ops fault_output_ops = {
    .write = fault_write, .close = fault_close_output, .abort = fault_abort};

static nl_status fault_create(nl_fs *self, nl_str path, nl_output **output)
{
    fault_fs *fs = self_of(self);
    NL_TRY(step(fs, CREATE, path));
    fault_output *started = calloc(1, sizeof *started + path.length);
    if (started == NULL) return out_of_memory(sizeof *started + path.length);
    nl_status status = nl_fs_create(fs->below, path, &started->below);
    if (status != NULL) {
        free(started);
        return status;
    }
    started->base.ops = &fault_output_ops;
    started->fs = self_of(nl_fs_retain(self));
    started->path_length = path.length;
    memcpy(started->path, path.data, path.length);
    *output = &started->base;
    return NULL;
}

static nl_status fault_create_if_absent(nl_fs *self, nl_str path, nl_bytes content)
{
    fault_fs *fs = self_of(self);
    NL_TRY(nl_fault_step(fs->plan, fs->names[CREATE_IF_ABSENT], path, content.length));
    NL_TRY(nl_fs_create_if_absent(fs->below, path, content));
    return reply_step(fs->plan, fs->names[CREATED], path);
}

static nl_status fault_rename(nl_fs *self, nl_str from, nl_str to, bool replace)
{
    fault_fs *fs = self_of(self);
    NL_TRY(step(fs, RENAME, from));
    NL_TRY(nl_fs_rename(fs->below, from, to, replace));
    return reply_step(fs->plan, fs->names[RENAMED], from);
}

static nl_status fault_remove(nl_fs *self, nl_str path)
{
    NL_TRY(step(self_of(self), REMOVE, path));
    return nl_fs_remove(self_of(self)->below, path);
}

static nl_status fault_remove_tree(nl_fs *self, nl_str path)
{
    NL_TRY(step(self_of(self), REMOVE_TREE, path));
    return nl_fs_remove_tree(self_of(self)->below, path);
}

static nl_status fault_make_directory(nl_fs *self, nl_str path)
{
    NL_TRY(step(self_of(self), MAKE_DIRECTORY, path));
    return nl_fs_make_directory(self_of(self)->below, path);
}

static nl_status fault_stat(nl_fs *self, nl_str path, nl_file_info *info)
{
    NL_TRY(step(self_of(self), STAT, path));
    return nl_fs_stat(self_of(self)->below, path, info);
}

static nl_status fault_list(nl_fs *self, nl_str path, bool is_recursive, nl_list_visit visit, void *argument)
{
    NL_TRY(step(self_of(self), LIST, path));
    return nl_fs_list(self_of(self)->below, path, is_recursive, visit, argument);
}

static void fault_free(nl_fs *self)
{
    fault_fs *fs = self_of(self);
    nl_fs_release(fs->below);
    free(fs);
}

static const nl_fs_ops fault_ops = {
    .scheme = "fault",
    .open = fault_open,
    .create = fault_create,
    .create_if_absent = fault_create_if_absent,
    .rename = fault_rename,
    .remove = fault_remove,
    .remove_tree = fault_remove_tree,
    .make_directory = fault_make_directory,
    .stat = fault_stat,
    .list = fault_list,
    .free = fault_free,
};

nl_fs *nl_fs_fault_new(nl_fs *below, nl_fault_plan *plan)
{
    fault_fs *fs = calloc(1, sizeof *fs);
    if (fs == NULL) nl_assert_failed("the system has no memory for a file system", NL_HERE);
    fs->base.ops = &fault_ops;
    atomic_init(&fs->base.references, 1);
    fs->below = nl_fs_retain(below);
    fs->plan = plan;
    const char *layer = nl_str_is(nl_str_from(below->ops->scheme), "file") ? "local" : below->ops->scheme;
    for (int i = 0; i < OPERATION_COUNT; i++)
        snprintf(fs->names[i], sizeof fs->names[i], "%.20s.%s", layer, operation_words[i]);
    return &fs->base;
}

uint64_t nl_fault_sweep_run(const nl_fault_sweep *sweep)
{
    for (uint64_t failing = 1;; failing++) {
        nl_fault_plan *plan;
        nl_status status = nl_fault_plan_parse(NL_STR(""), &plan);
        if (status != NULL) nl_assert_failed("a sweep needs memory for its plan", NL_HERE);
        nl_fault_plan_fail_step(plan, failing);
        status = sweep->run(sweep->argument, plan);
        uint64_t step_count = nl_fault_plan_steps(plan);
        bool is_last = step_count < failing;
        sweep->check(sweep->argument, is_last ? 0 : failing, status);
        nl_fault_plan_free(plan);
        if (is_last) return step_count;
    }
}

#ifdef NL_FAULTS
/* The process's own plan. Written once, before use, and never freed. */
static nl_fault_plan *process_plan;
static nl_fs *process_fs;
static pthread_once_t process_once = PTHREAD_ONCE_INIT;

static void read_environment(void)
{
    const char *text = getenv("NILAS_FAULT");
    if (text == NULL || text[0] == '\0') return;
    nl_status status = nl_fault_plan_parse(nl_str_from(text), &process_plan);
    if (status != NULL) nl_assert_failed(nl_error_message(status), NL_HERE); /* a test that tests nothing is worse */
    process_fs = nl_fs_fault_new(nl_fs_local(), process_plan);
}

nl_fault_plan *nl_fault_process_plan(void)
{
    pthread_once(&process_once, read_environment);
    return process_plan;
}

nl_fs *nl_fault_from_environment(nl_fs *fs)
{
    pthread_once(&process_once, read_environment);
    if (process_fs == NULL) return fs;
    nl_fs_release(fs);
    return nl_fs_retain(process_fs);
}
#else
nl_fault_plan *nl_fault_process_plan(void)
{
    return NULL;
}

nl_fs *nl_fault_from_environment(nl_fs *fs)
{
    return fs;
}
#endif
