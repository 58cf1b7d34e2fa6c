#!/bin/sh
# Succeeds if the Java that Spark would start is version 17 or newer; otherwise says in one line
# what was found and how to get a newer one. Only shell builtins, so that it works on any PATH.

NEEDED=17
HOW="install it with 'apt-get install openjdk-17-jre-headless' (Debian, Ubuntu), 'brew install openjdk@17' (macOS), or from https://adoptium.net"

fail() {
    echo "penstock needs Java $NEEDED or newer, but $1: $HOW" >&2
    exit 1
}

# Spark takes the Java of JAVA_HOME if that is set, and looks at the PATH only if it is not.
if [ -n "${JAVA_HOME:-}" ]; then
    java="$JAVA_HOME/bin/java"
    [ -x "$java" ] || fail "JAVA_HOME is $JAVA_HOME, which has no bin/java"
else
    java=$(command -v java) || fail "there is no java on the PATH and JAVA_HOME is not set"
fi

# The line looks like: openjdk version "17.0.15" 2025-04-15. Other lines may come before it.
output=$("$java" -version 2>&1)
version=${output#*version \"}
# macOS has a java that only says that there is none.
[ "$version" != "$output" ] || fail "$java does not tell its version"
version=${version%%\"*}

major=${version#1.}           # Java 8 calls itself 1.8
major=${major%%[!0-9]*}
[ -n "$major" ] || fail "$java calls its version '$version'"
[ "$major" -ge "$NEEDED" ] || fail "$java is version $version"
