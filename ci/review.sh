#!/bin/sh
# Writes what a change means to FILE, as a comment for its pull request. The index must be up to date (ci/index.sh).
#
#   ci/review.sh FILE [PROJECT]
#
# BASE  the commit to compare with. Unless given: on GitHub the parent of the merge commit that a pull request is checked
#       out as, on GitLab the base of the merge request, otherwise where the default branch was left.
# SAGE  the command, `sage` unless given.
#
# It needs no token and is given none; `sage review post FILE` posts what it has written, in a step of its own.
set -eu
file=${1:?"usage: review.sh FILE [PROJECT]"}
project=${2:-.}
sage=${SAGE:-sage}
base=${BASE:-${CI_MERGE_REQUEST_TARGET_BRANCH_SHA:-${CI_MERGE_REQUEST_DIFF_BASE_SHA:-}}}
unset GITHUB_TOKEN GH_TOKEN SAGE_REVIEW_TOKEN SAGE_SIGNING_KEY

in_checkout() {
    git -c core.hooksPath=/dev/null -c core.fsmonitor=false -C "$project" "$@"
}

if [ -z "$base" ] && [ "${GITHUB_EVENT_NAME:-}" = pull_request ]; then
    base="HEAD^1"
    in_checkout rev-parse --verify --quiet "$base^{commit}" > /dev/null ||
        in_checkout fetch --quiet --no-tags --deepen=1 origin "${GITHUB_REF:-HEAD}" ||
        echo "review.sh: check out with fetch-depth: 2" >&2
elif [ -n "$base" ] && ! in_checkout rev-parse --verify --quiet "$base^{commit}" > /dev/null; then
    in_checkout fetch --quiet --no-tags --depth=1 origin "$base" || echo "review.sh: $base cannot be fetched" >&2
fi
"$sage" review --project "$project" ${base:+--base "$base"} --output "$file"
