/* lakehouse/server_listen.c - sockets that listen, who holds a port, and the names this machine may be called by. */
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lakehouse/server_private.h"
#include "storage/io_error.h"

/* ---- Who holds a port: /proc/net/tcp gives the socket's inode, /proc/PID/fd who has it. */

/* A line: "  0: 0100007F:2328 00000000:0000 0A … … … uid timeout inode …". State 0A is LISTEN. */
static bool line_listens(char *line, uint16_t port, unsigned long long *inode)
{
    nl_str rest = nl_str_from(line), fields[10];
    uint32_t count = 0;
    for (nl_str part; count < 10 && nl_str_next_part(&rest, ' ', &part);)
        if (part.length) fields[count++] = part;
    if (count < 10 || !nl_str_is(fields[3], "0A")) return false;
    char wanted[8];
    snprintf(wanted, sizeof(wanted), ":%04X", port);
    if (!nl_str_ends(fields[1], nl_str_from(wanted))) return false;
    *inode = 0;
    for (size_t i = 0; i < fields[9].length && isdigit((unsigned char)fields[9].data[i]); i++) *inode = *inode * 10 + (unsigned long long)(fields[9].data[i] - '0');
    return *inode != 0;
}

static bool find_inode(const char *table, uint16_t port, unsigned long long *inode)
{
    FILE *in = fopen(table, "re");
    if (!in) return false;
    char line[512];
    bool is_found = false;
    while (!is_found && fgets(line, sizeof(line), in)) is_found = line_listens(line, port, inode);
    fclose(in);
    return is_found;
}

static bool process_has(const char *pid, const char *socket_name)
{
    char path[300];
    snprintf(path, sizeof(path), "/proc/%.20s/fd", pid);
    DIR *folder = opendir(path);
    if (!folder) return false;
    bool has = false;
    for (struct dirent *entry = readdir(folder); entry && !has; entry = readdir(folder)) {
        char target[64];
        const ssize_t length = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target) - 1);
        if (length <= 0) continue;
        target[length] = '\0';
        has = strcmp(target, socket_name) == 0;
    }
    closedir(folder);
    return has;
}

/* The arguments are separated by NULs there; what a terminal would act on becomes '?'. */
static void describe_process(const char *pid, char *text, size_t room)
{
    char path[64], command[120];
    snprintf(path, sizeof(path), "/proc/%.20s/cmdline", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, command, sizeof(command) - 1) : 0;
    if (file >= 0) close(file);
    length = NL_MAX(length, 0);
    while (length > 0 && command[length - 1] == '\0') length--;
    for (ssize_t i = 0; i < length; i++) command[i] = command[i] == '\0' ? ' ' : (unsigned char)command[i] < 0x20 ? '?' : command[i];
    command[length] = '\0';
    snprintf(text, room, "process %.20s (%s)", pid, command);
}

void nl_port_holder(uint16_t port, char *text, size_t room)
{
    text[0] = '\0';
    unsigned long long inode = 0;
    if (!find_inode("/proc/net/tcp", port, &inode) && !find_inode("/proc/net/tcp6", port, &inode)) return;
    char socket_name[64];
    snprintf(socket_name, sizeof(socket_name), "socket:[%llu]", inode);
    DIR *processes = opendir("/proc");
    if (!processes) return;
    for (struct dirent *entry = readdir(processes); entry && !text[0]; entry = readdir(processes))
        if (isdigit((unsigned char)entry->d_name[0]) && process_has(entry->d_name, socket_name)) describe_process(entry->d_name, text, room);
    closedir(processes);
}

/* ---- Listening. */

static nl_status raise_port(int error, uint16_t port)
{
    char operation[64], holder[192];
    snprintf(operation, sizeof(operation), "Listening on port %u", port);
    if (error != EADDRINUSE) return nl_raise_errno(error, operation, NL_STR("the network"));
    nl_port_holder(port, holder, sizeof(holder));
    char problem[320];
    snprintf(problem, sizeof(problem), "%s holds it; stop that one, or choose another port", holder[0] ? holder : "another user's process");
    char path[32];
    snprintf(path, sizeof(path), "port %u", port);
    return NL_RAISE(NILAS_IO_ERROR, NL_P("operation", "Listening"), NL_P("path", path), NL_P("problem", problem));
}

static int bind_one(const struct sockaddr *address, socklen_t length)
{
    const int made = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0) return -1;
    const int on = 1;
    setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* a restart need not wait for closed connections */
    if (address->sa_family == AF_INET6) setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    if (bind(made, address, length) == 0 && listen(made, 512) == 0) return made;
    const int error = errno;
    close(made);
    errno = error;
    return -1;
}

static uint16_t port_of(int descriptor)
{
    struct sockaddr_storage bound;
    socklen_t length = sizeof(bound);
    if (getsockname(descriptor, (struct sockaddr *)&bound, &length) != 0) return 0;
    return ntohs(bound.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&bound)->sin6_port : ((struct sockaddr_in *)&bound)->sin_port);
}

static nl_status open_loopback(uint16_t port, nl_listener *listener)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    for (int attempt = 0;; attempt++) {
        listener->descriptors[0] = bind_one((struct sockaddr *)&four, sizeof(four));
        if (listener->descriptors[0] < 0) return raise_port(errno, port);
        listener->port = port_of(listener->descriptors[0]);
        six.sin6_port = htons(listener->port);
        listener->descriptors[1] = bind_one((struct sockaddr *)&six, sizeof(six));
        /* A machine without IPv6 has one loopback address. */
        if (listener->descriptors[1] >= 0 || errno != EADDRINUSE) return NULL;
        const int error = errno;
        nl_listener_close(listener);
        if (port != 0 || attempt == 20) return raise_port(error, listener->port);
    }
}

nl_status nl_listener_open(nl_str listen_address, uint16_t port, nl_listener *listener)
{
    listener->descriptors[0] = listener->descriptors[1] = -1;
    if (listen_address.length == 0) return open_loopback(port, listener);
    char host[256], service[8];
    snprintf(host, sizeof(host), NL_STR_FMT, NL_STR_ARG(listen_address));
    snprintf(service, sizeof(service), "%u", port);
    const struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE};
    struct addrinfo *found = NULL;
    if (getaddrinfo(host, service, &hints, &found) != 0)
        return NL_RAISE_TEXT(NILAS_ILLEGAL_ARGUMENT, "Cannot listen on %s: it is no address; give one in numbers, as 0.0.0.0", host);
    listener->descriptors[0] = bind_one(found->ai_addr, found->ai_addrlen);
    const int error = errno;
    freeaddrinfo(found);
    if (listener->descriptors[0] < 0) return raise_port(error, port);
    listener->port = port_of(listener->descriptors[0]);
    return NULL;
}

void nl_listener_close(nl_listener *listener)
{
    for (uint32_t i = 0; i < NL_COUNT(listener->descriptors); i++) {
        if (listener->descriptors[i] >= 0) close(listener->descriptors[i]);
        listener->descriptors[i] = -1;
    }
}

void nl_address_format(const struct sockaddr *address, char text[64])
{
    char host[INET6_ADDRSTRLEN] = "?";
    if (address->sa_family == AF_INET6) {
        const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
        inet_ntop(AF_INET6, &six->sin6_addr, host, sizeof(host));
        snprintf(text, 64, "[%s]:%u", host, ntohs(six->sin6_port));
    } else {
        const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
        inet_ntop(AF_INET, &four->sin_addr, host, sizeof(host));
        snprintf(text, 64, "%s:%u", host, ntohs(four->sin_port));
    }
}

/* ---- Names. */

/* "name" or "anything.name" */
static bool is_or_is_below(nl_str host, nl_str name)
{
    if (nl_str_equal_nocase(host, name)) return true;
    if (host.length <= name.length + 1) return false;
    const size_t cut = host.length - name.length;
    return host.data[cut - 1] == '.' && nl_str_equal_nocase(nl_str_slice(host, cut, host.length), name);
}

static bool is_own_address(nl_str host, int connection)
{
    struct sockaddr_storage own;
    socklen_t length = sizeof(own);
    if (getsockname(connection, (struct sockaddr *)&own, &length) != 0) return false;
    char text[64];
    nl_address_format((struct sockaddr *)&own, text);
    const nl_str whole = nl_str_from(text);
    return nl_str_equal_nocase(host, nl_str_slice(whole, 0, nl_str_find_last_char(whole, ':')));
}

bool nl_host_is_known(nl_str host, const nl_server_options *options, int connection)
{
    const size_t bracket = host.length && host.data[0] == '[' ? nl_str_find_char(host, ']', 0) : 0;
    if (bracket == NL_NOT_FOUND) return false;
    host = nl_str_slice(host, 0, nl_str_find_char(host, ':', bracket));
    if (host.length && host.data[host.length - 1] == '.') host.length--; /* the root's dot: "localhost." is the same name */
    if (nl_str_is(host, "127.0.0.1") || nl_str_is(host, "[::1]") || is_or_is_below(host, NL_STR("localhost"))) return true;
    for (uint32_t i = 0; i < options->host_count; i++)
        if (is_or_is_below(host, options->hosts[i])) return true;
    return is_own_address(host, connection);
}
