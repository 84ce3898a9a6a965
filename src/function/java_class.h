/* function/java_class.h - the names of Spark's own classes, which some of its errors show. */
#pragma once

#include "base/arena.h"
#include "base/str.h"

/* The full class of a built-in function, in any case; of others, the class of functions in general. */
nl_str nl_java_class(nl_arena *arena, nl_str function);
/* The same for an expression that Spark has built when it looks at the arguments: an aggregate is wrapped, and what a
 * builder makes is not made yet. */
nl_str nl_java_class_called(nl_arena *arena, nl_str function);
