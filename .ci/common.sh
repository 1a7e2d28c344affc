# What the scripts beside this file share. They source it first; it makes the top of the repository the working
# directory.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C.UTF-8
logs=.build/logs

swift_needed=6.3
home=${HOME:-/}
swift_places=(/opt/swift/usr/bin /opt/swift-*/usr/bin /usr/local/swift*/usr/bin "$home"/swift*/usr/bin
    "${SWIFTLY_BIN_DIR:-$home/.local/share/swiftly/bin}")

if [ -t 1 ] && [ -z "${NO_COLOR:-}" ]; then bold=$'\e[1m' plain=$'\e[0m'; else bold='' plain=''; fi
say() { printf '%s==>%s %s\n' "$bold" "$plain" "$*"; }
warn() { printf 'warning: %s\n' "$*" >&2; }

# die LINE...: the first line says what is wrong, the others what to do about it.
die() {
    printf 'error: %s\n' "$1" >&2
    shift
    [ $# -eq 0 ] || printf '       %s\n' "$@" >&2
    exit 1
}

# Root's rights, for packages, services and network namespaces only: as they are, or through sudo (which may ask where
# there is a terminal).
can_be_root() {
    [ "$(id -u)" = 0 ] || { command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; }
}
as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

at_least() { [ "$(printf '%s\n' "$2" "$1" | sort -V | head -n 1)" = "$2" ]; }

# Puts a toolchain that is new enough into PATH, or says how to get one.
use_swift() {
    local place answer version found='' in_path
    in_path=$(command -v swift || true)
    for place in ${SWIFT_BIN:+"$SWIFT_BIN"} ${in_path:+"$(dirname "$in_path")"} "${swift_places[@]}"; do
        [ -x "$place/swift" ] || continue
        answer=$("$place/swift" --version 2>&1 </dev/null) || true
        version=$(sed -n 's/.*Swift version \([0-9][0-9.]*\).*/\1/p' <<<"$answer" | head -n 1)
        if [ -n "$version" ] && at_least "$version" "$swift_needed"; then
            case ":$PATH:" in *":$place:"*) ;; *) export PATH="$place:$PATH" ;; esac
            return
        fi
        found+=" $place/swift (${version:-"does not run: $(head -n 1 <<<"$answer")"});"
    done
    die "Swift $swift_needed or later is needed; found ${found:-none}" \
        "Get the toolchain for Debian 12 from swift.org/install/linux and unpack it so that /opt/swift/usr/bin/swift" \
        "is there, put its usr/bin into PATH, or name that folder: make SWIFT_BIN=FOLDER ..."
}

# On a terminal, one moving line of what goes by; elsewhere nothing.
progress() {
    if [ -t 1 ]; then
        awk '/^(\[|✔|◇|➜)/ { printf "\r\033[K    %s", substr($0, 1, 74); fflush(); shown = 1 }
             END { if (shown) printf "\r\033[K" }'
    else
        cat >/dev/null
    fi
}

# limited SECONDS COMMAND...: in the terminal's process group Ctrl-C reaches the command; elsewhere the limit has to end
# its children too.
limited() {
    local foreground=()
    if [ -t 1 ]; then foreground=(--foreground); fi
    timeout "${foreground[@]}" -k 20 "$@"
}

# All that a build warns about, but what the linker says: of the C library's mktemp, of the sanitizers' own symbols.
warnings_in() {
    grep -E '(^|[: ])warning: ' "$1" | grep -vE '(^|/)(ld|ld\.gold|ld\.lld): |the use of .mktemp. is dangerous'
}

# quiet_build NAME ARGUMENT...: swift build, its output in a log; a failure or a warning is shown and ends the script.
quiet_build() {
    local name=$1 log=$logs/build-$1.log begun=$SECONDS
    shift
    mkdir -p "$logs"
    if ! swift build "$@" 2>&1 </dev/null | tee "$log" | progress; then
        grep -vE '^(\[[0-9]+/[0-9]+\]|Building for)' "$log" | head -n 100 >&2 || true
        local lock
        lock=$(sed -n 's/^error: invalid access to \(.*\.lock\)$/\1/p' "$log")
        [ -z "$lock" ] || die "another user built here before" "As root: rm $lock; chown -R $(id -un) $PWD/.build"
        die "the build ($name) failed; all of its output is in $log"
    fi
    if warnings_in "$log" >&2; then
        die "the build ($name) has warnings; all of its output is in $log"
    fi
    if [ $((SECONDS - begun)) -ge 3 ]; then say "built $name in $((SECONDS - begun)) s"; fi
}

# Reads the output of `swift test`. Prints how many passed, failed and were skipped, and 1 if the run came to its end.
# "Test run with N tests" counts the skipped ones too; a run that dies has no such line, and at least one failure.
read_counts() {
    awk '/^✘ Test .* failed after / && !/^✘ Test run with / { failed++ }
         /^➜ Test .* skipped/ { skipped++ }
         / Test run with [0-9]+ tests? .*(passed|failed) after / {
             for (i = 1; i < NF; i++) if ($i == "with" && $(i + 1) ~ /^[0-9]+$/) { total += $(i + 1); break }
             ended = 1
             if (/ failed after /) bad = 1
         }
         END {
             if ((bad || !ended) && !failed) failed = 1
             passed = total - failed - skipped
             print (passed > 0 ? passed : 0), failed + 0, skipped + 0, ended + 0
         }' "$1"
}

# What was said about the tests that failed, from the output of `swift test`.
failures_in() {
    awk '/^✘ Test run with/ { next }
         /^✘/ { shown = 1; print; next }
         shown && /^(↳|  )/ { print; next }
         { shown = 0 }' "$1" | head -n 200
}

# The tests that began and did not end.
unfinished_in() {
    sed -n -E -e 's/^◇ Test (.*) started\.$/+\1/p' -e 's/^[✔✘] Test (.*) (passed|failed) after .*/-\1/p' "$1" \
        | sed -E 's/^-(.*) with [0-9]+ test cases?$/-\1/' \
        | awk '/^\+(run$|case )/ { next }
               { name = substr($0, 2); if (/^\+/) open[name] = 1; else delete open[name] }
               END { for (name in open) print "  " name }' \
        | sort | head -n 40
}

# explain LOG ENDED STATUS LIMIT: why tests failed, from their output.
explain() {
    failures_in "$1"
    grep -E -m 1 -A 40 '(WARNING|ERROR): [A-Z][a-z]+Sanitizer' "$1" && return
    if [ "$3" -eq 124 ]; then
        echo "not done after $4 s:"
        unfinished_in "$1"
    elif [ "$2" -eq 0 ]; then
        grep -E -m 1 -A 40 'Fatal error|\*\*\* ' "$1" || tail -n 30 "$1"
    fi
}

test_targets() { find Tests -mindepth 1 -maxdepth 1 -name '*Tests' -printf '%f\n' | sort; }

# run_tests TARGET SECONDS FOLDER ARGUMENT...: a target's tests, built already in that scratch folder. Prints the
# counts, and of failures what was said. Appends "FOLDER TARGET PASSED FAILED SKIPPED" to $STARLING_COUNTS where that is
# set. False if a test failed or was skipped, or if none ran.
#
# Each target gets a process of its own: what one leaves behind (descriptors, children nobody waits for, a crash) is
# nothing to the others. It is the tests' own program and not `swift test`, which puts it into a process group where no
# limit and no Ctrl-C reach it, and which as root would leave files and locks in the way of others.
as_whom=()
run_tests() {
    local target=$1 limit=$2 folder=$3 begun=$SECONDS status=0 passed failed skipped ended
    local log=$logs/test-$1${3//[^a-z]/-}.log
    local program=("$folder/debug/starlingPackageTests.xctest" --testing-library swift-testing)
    shift 3
    mkdir -p "$logs"
    limited "$limit" "${as_whom[@]}" env NO_COLOR=1 "${program[@]}" --filter "^$target\." "$@" 2>&1 </dev/null \
        | tee "$log" | progress || status=$?
    read -r passed failed skipped ended < <(read_counts "$log")
    if [ $((passed + failed + skipped)) -eq 0 ]; then
        echo "no test ran"
        failed=1
    elif [ "$failed" -gt 0 ] || [ "$status" -ne 0 ]; then
        explain "$log" "$ended" "$status" "$limit"
        echo "all of the output is in $log"
        if [ "$failed" -eq 0 ]; then failed=1; fi
    fi
    if [ "$skipped" -gt 0 ]; then grep -E '^➜ Test .* skipped' "$log" || true; fi
    if [ -n "${STARLING_COUNTS:-}" ]; then
        echo "$folder $target $passed $failed $skipped" >>"$STARLING_COUNTS"
    fi
    say "$target: $passed passed, $failed failed, $skipped skipped ($((SECONDS - begun)) s)"
    [ "$failed" -eq 0 ] && [ "$skipped" -eq 0 ]
}
