/* function/java_math.h - exp and log with Java's (StrictMath's) last digits, which differ from libc's now and then.
 * The algorithms and constants are those that Java's specification names: Freely Distributable Math Library, version 5.3.
 */
#pragma once

double nl_java_exp(double x);
double nl_java_log(double x); /* x > 0 */
double nl_java_log10(double x);
double nl_java_cbrt(double x);
double nl_java_cosh(double x);
