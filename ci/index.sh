#!/bin/sh
# Brings the index of a project up to date and writes it to one file, starting from the last such file when there is one.
#
#   ci/index.sh FILE [PROJECT]
#
# LAST_INDEX  the file of an earlier run; FILE itself unless given. One that is missing, damaged or made by another
#             version is passed over: the index is then made from scratch.
# SAGE        the command, `sage` unless given.
# SAGE_HOME   where Sage keeps its data; a folder that is thrown away afterwards will do.
# SAGE_SHARED_INDEX, SAGE_SIGNING_KEY
#             when both are set, the index of the commit is also published there, signed, for `sage index` of others.
#             The key is a secret: set it for the default branch alone, never for pull requests of others.
set -eu
file=${1:?"usage: index.sh FILE [PROJECT]"}
project=${2:-.}
sage=${SAGE:-sage}
last=${LAST_INDEX:-$file}

if [ -f "$last" ]; then
    "$sage" index import "$last" "$project" || echo "index.sh: starting from scratch" >&2
fi
"$sage" index "$project"
"$sage" index export "$file" "$project"
if [ -n "${SAGE_SHARED_INDEX:-}" ] && [ -n "${SAGE_SIGNING_KEY:-}" ]; then
    "$sage" share push "$project"
fi
