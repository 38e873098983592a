#!/bin/bash
# Builds the apps and adapters beside this file against the package, and lets each check itself.
#
#     bash Tests/Consumers/run.sh [--configuration debug|release]   what CI runs; debug by default
#     bash Tests/Consumers/run.sh --compare [ROUNDS [CONNECTIONS]]  requests/s of the Hummingbird app with and without the tap
#     bash Tests/Consumers/run.sh --costs                           what the tap costs it, as the README's table
#     bash Tests/Consumers/run.sh --account [ROUTE [RUNS]]          where the instructions of its requests go
#
# Needs curl, jq, openssl, prometheus (with promtool), python3 and wrk; --costs also clang and strip, --account clang and valgrind.
set -euo pipefail
cd "$(dirname "$0")"
export CONFIGURATION=debug

need() {
  for tool in "$@"; do
    command -v "$tool" > /dev/null && continue
    echo "run.sh: $tool is missing; apt-get install curl jq openssl prometheus python3 wrk binutils" >&2
    exit 1
  done
}

case "${1-}" in
  --compare) need wrk && exec HummingbirdApp/measure compare "${@:2}" ;;
  --costs) need clang strip wrk && exec HummingbirdApp/measure costs ;;
  --account) need clang strip valgrind && exec HummingbirdApp/measure account "${@:2}" ;;
  --configuration) CONFIGURATION=${2:?debug or release} ;;
  "") ;;
  *) sed -n '2,9s/^# \{0,1\}//p' "$0" >&2 && exit 2 ;;
esac

need curl jq openssl prometheus promtool python3 wrk
# All debug builds here have the flags of one file, so that no check builds the packages again. Nobody debugs these programs, and
# what a debugger needs takes time to make.
TIMEFORMAT='  %0R s (%0U s + %0S s of processor)'
for check in */check; do
  printf '%s\n' "${check%/check}"
  if ! time "$check"; then
    echo "run.sh: $check failed, as said above; to run it alone: $PWD/$check" >&2
    exit 1
  fi
done
