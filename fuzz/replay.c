/* fuzz/replay.c - stands in for libFuzzer in ordinary builds: runs a target over every file of the folders given. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay_file(const char *path)
{
    FILE *in = fopen(path, "rb");
    if (!in) return 1;
    fseek(in, 0, SEEK_END);
    const long size = ftell(in);
    rewind(in);
    uint8_t *data = malloc((size_t)size + 1);
    const int is_read = data && size >= 0 && fread(data, 1, (size_t)size, in) == (size_t)size;
    fclose(in);
    if (is_read) LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return is_read ? 0 : 1;
}

int main(int argument_count, char **arguments)
{
    int count = 0;
    for (int i = 1; i < argument_count; i++) {
        DIR *folder = opendir(arguments[i]);
        if (!folder) {
            fprintf(stderr, "cannot open %s\n", arguments[i]);
            return 1;
        }
        for (const struct dirent *entry; (entry = readdir(folder));) {
            char path[4096];
            if (entry->d_name[0] == '.') continue;
            snprintf(path, sizeof(path), "%s/%s", arguments[i], entry->d_name);
            if (replay_file(path)) return 1;
            count++;
        }
        closedir(folder);
    }
    printf("%d inputs\n", count);
    return count > 0 ? 0 : 1;
}
