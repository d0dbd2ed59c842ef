#!/usr/bin/env bash
# Runs a command again and again beside busy processes: a test that fails one time in ten is a fault.
#
#   scripts/repeat.sh [--times N] [--busy M] [--workers W] -- COMMAND [ARGUMENTS]
#
# --times N    how often in all (default: 10)
# --busy M     how many processes keep a core busy meanwhile (default: 1)
# --workers W  how many runs at once (default: 1)
#
# The output of a run that failed is kept, and its place is printed; the exit status is 1 if any did.
set -eu
times=10 busy=1 workers=1
while [ $# -gt 0 ]; do
    case $1 in
        --times) times=$2; shift 2 ;;
        --busy) busy=$2; shift 2 ;;
        --workers) workers=$2; shift 2 ;;
        --) shift; break ;;
        *) break ;;
    esac
done
[ $# -gt 0 ] || { sed -n '2,10p' "$0" | sed 's/^# \{0,1\}//'; exit 2; }

logs=$(mktemp -d)
spinning=''
runs=''
trap 'kill $spinning ${runs:+-$runs} 2>/dev/null || true' EXIT
trap 'exit 130' INT TERM
for _ in $(seq "$busy"); do
    sh -c 'while :; do :; done' &
    spinning="$spinning $!"
done

# "$@" of the run behind xargs: the number of the run is its first argument
run='
number=$1 logs=$2; shift 2
began=$(date +%s)
if "$@" >"$logs/$number.log" 2>&1; then
    echo "run $number: passed, $(($(date +%s) - began)) s"
    rm "$logs/$number.log"
else
    echo "run $number: FAILED, $(($(date +%s) - began)) s: $logs/$number.log"
fi'
set -m  # the runs become a process group, which ends with this script
seq "$times" | xargs -P "$workers" -I NUMBER sh -c "$run" run NUMBER "$logs" "$@" | tee "$logs/runs" &
runs=$(jobs -p %%)
wait %%

failed=$(grep -c FAILED "$logs/runs" || true)
echo "$times runs beside $busy busy processes: $((times - failed)) passed, $failed failed"
[ "$failed" -eq 0 ] && rm -rf "$logs"
[ "$failed" -eq 0 ]
