import java.io.*;
import java.nio.file.*;
import java.util.*;

/* Runs spark-sql's command lines one after the other in one JVM. Protocol on fd 0: a line naming a case folder with
 * `args` (NUL-separated) and `stdin`; answer: end marker with the exit status on fd 1 and fd 2. */
public class SparkSqlHarness {
    static class Exit extends SecurityException {
        final int code;
        Exit(int code) { this.code = code; }
    }
    static Integer first;
    /* spark-submit's launcher sorts its own options from the program's. */
    static String[] submitted(String[] args) throws Exception {
        PrintStream out = System.out;
        ByteArrayOutputStream caught = new ByteArrayOutputStream();
        System.setOut(new PrintStream(caught, true, "UTF-8"));
        try {
            List<String> all = new ArrayList<>(List.of("org.apache.spark.deploy.SparkSubmit", "--class", "org.apache.spark.sql.hive.thriftserver.SparkSQLCLIDriver"));
            all.addAll(List.of(args));
            Class<?> main = Class.forName("org.apache.spark.launcher.Main");
            java.lang.reflect.Method m = main.getDeclaredMethod("main", String[].class);
            m.setAccessible(true);
            m.invoke(null, (Object) all.toArray(new String[0]));
        } finally { System.setOut(out); }
        List<String> parts = new ArrayList<>(List.of(caught.toString("UTF-8").split("\0", -1)));
        parts.remove(parts.size() - 1);
        int at = parts.indexOf("org.apache.spark.deploy.SparkSubmit");
        return parts.subList(at + 1, parts.size()).toArray(new String[0]);
    }
    public static void main(String[] argv) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        final PrintStream out = System.out, err = System.err;
        final InputStream realIn = System.in;
        System.setSecurityManager(new SecurityManager() {
            @Override public void checkExit(int code) { if (first == null) first = code; throw new Exit(code); }
            @Override public void checkPermission(java.security.Permission p) {}
            @Override public void checkPermission(java.security.Permission p, Object c) {}
        });
        Properties initial = (Properties) System.getProperties().clone();
        String line;
        while ((line = in.readLine()) != null) {
            final Path dir = Paths.get(line);
            final String[] args = new String(Files.readAllBytes(dir.resolve("args")), "UTF-8").split("\0", -1);
            System.setProperties((Properties) initial.clone());
            first = null;
            System.setIn(new FileInputStream(dir.resolve("stdin").toFile()));
            final Throwable[] failure = new Throwable[1];
            ThreadGroup group = new ThreadGroup("case");
            Thread t = new Thread(group, () -> {
                try { org.apache.spark.deploy.SparkSubmit.main(submitted(args)); }
                catch (Exit e) { }
                catch (Throwable e) { Throwable c = e; while (c != null && !(c instanceof Exit)) c = c.getCause(); if (c == null) failure[0] = e; }
            }, "main");
            t.start();
            t.join();
            int code = first != null ? first : failure[0] != null ? 1 : 0;
            System.setOut(out); System.setErr(err);
            if (failure[0] != null) { err.print("UNCAUGHT "); failure[0].printStackTrace(err); }
            try {
                Class<?> env = Class.forName("org.apache.spark.sql.hive.thriftserver.SparkSQLEnv$");
                Object module = env.getField("MODULE$").get(null);
                for (java.lang.reflect.Method m : env.getMethods())
                    if (m.getName().equals("stop") && m.getParameterCount() == 1) m.invoke(module, 0);
            } catch (Throwable e) { err.println("LOG stop " + e); }
            out.flush(); err.flush();
            out.println("\001END " + code); err.println("\001END " + code);
            out.flush(); err.flush();
        }
        Runtime.getRuntime().halt(0);
    }
}
