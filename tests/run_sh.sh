#!/usr/bin/env bash
# run.sh itself, on real servers: what it leaves behind, whatever ends it, and what it refuses.
# Called by `./run.sh test`; alone, it wants `./run.sh setup` first. Nothing sleeps and then asserts: what is
# awaited has a deadline. With a word as argument: only the checks that have it in their names.
set -uo pipefail
# `./run.sh test` calls it in the background, where SIGINT is ignored (and nohup ignores SIGHUP), and bash cannot take back what it was
# started with.
[[ -n ${signals_as_usual:-} ]] || exec env --default-signal=HUP,INT,QUIT signals_as_usual=yes "$BASH" "$0" "$@"
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
unset TIGERBEETLE TIGERBEETLE_ADDRESS REDIS_URL DATABASE_URL
flock --nonblock target/ledger-bench.lock true || { echo "in use by $(<target/ledger-bench.lock)"; exit 1; }

# Where scratch folders are memory, the data cannot be there.
[[ $(stat -f -c %T "${TMPDIR:-/tmp}") != tmpfs ]] || export TMPDIR=$PWD/target
scratch=$(mktemp -d)   # all that belongs to a run of run.sh, so that its processes are known by it
beside=$(mktemp -d)    # servers that are none of its business
chmod 755 "$scratch"
csv=$scratch/results.csv
data=$scratch/data
only=${1:-}
passed=0 failed=0
bystanders=()

trap end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

end() {
  local pid
  for pid in "${bystanders[@]}" $(jobs -p); do kill -KILL "$pid" 2>/dev/null; done
  rm -rf "$scratch" "$beside"
}

check() {
  local start=$SECONDS
  [[ $1 == *"$only"* ]] || return 0
  rm -rf "$csv" "${csv%.csv}.series.csv" "$data"
  : >"$scratch/stderr"
  if "${@:2}"; then
    passed=$((passed + 1))
    echo "ok    $1 ($((SECONDS - start)) s)"
  else
    failed=$((failed + 1))
    echo "FAIL  $1"
    tail -n 15 "$scratch/stderr"
  fi
}

# within SECONDS COMMAND...
within() {
  local deadline=$((SECONDS + $1))
  until "${@:2}"; do
    ((SECONDS < deadline)) || return 1
    sleep 0.05
  done
}

# Pids of whatever a run has started: it works in the scratch folder, or names it.
ours() {
  {
    grep -alF "$scratch" /proc/[0-9]*/cmdline
    find /proc/[0-9]*/cwd -maxdepth 0 -lname "$scratch*"
  } 2>/dev/null | cut -d/ -f3
}

gone() { ! kill -0 "$1" 2>/dev/null; }
none_of_ours() { [[ -z $(ours) ]]; }
nothing_left() { within 10 none_of_ours && ! compgen -G "$scratch/data*/ledger-bench-*" >/dev/null; }
rows() { [[ $(grep -c ',seed,basic,' "$csv") == "$1" ]]; }
told() { grep -Eq -- "$1" "$scratch/stderr"; }
# The brackets keep grep from finding itself.
measuring() { grep -aq "[l]edger-bench.run.*$scratch" /proc/[0-9]*/cmdline 2>/dev/null; }
# exits STATUS COMMAND...
exits() {
  local status=0
  "${@:2}" || status=$?
  [[ $status == "$1" ]] || { echo "exit status $status, not $1" >>"$scratch/stderr" && return 1; }
}

# A run of one short sample a system, with any further flags.
run() {
  ./run.sh --quick --suite seed --benchmark basic --ops 200 --csv "$csv" --data "$data" "$@" \
    >"$scratch/stdout" 2>"$scratch/stderr"
}

# A long run in the background, $pid, in a process group of its own, as a terminal's would be; back when it measures.
run_long() {
  set -m
  ./run.sh --suite seed --benchmark basic --time "${time:-60s}" --csv "$csv" --data "$data" "$@" \
    >"$scratch/stdout" 2>"$scratch/stderr" &
  pid=$!
  set +m
  within 60 measuring
}

# bystander PORT: a server that was there before us; where the port is taken already, so much the better.
bystander() {
  redis-server --port "$1" --bind 127.0.0.1 --save '' --dir "$beside" >/dev/null 2>&1 &
  bystanders+=("$!")
  disown
}

bystander_answers() {
  (exec 3<>"/dev/tcp/127.0.0.1/$1" && echo PING >&3 && read -r -t 5 answer <&3 && [[ $answer == +PONG* ]]) 2>/dev/null
}

all_three_systems() {
  exits 0 run && rows 3 && [[ $(grep -c . "$scratch/stdout") -ge 3 ]] && grep -q '<svg' "$scratch/report.html" && nothing_left
}

# tier SYSTEM DURABILITY SETTING: a verified row says that its server had the setting.
tier() { grep -q ",ledger,single,$1,$2,.*,yes,.*$3" "$csv"; }

tiers_are_set_and_read_back() {
  ./run.sh --quick --benchmark single --ops 50 --system redis,postgres --durability fsync,os-cache,memory,shipped \
    --csv "$csv" --data "$data" >"$scratch/stdout" 2>"$scratch/stderr" &&
    tier redis fsync 'appendonly=yes, appendfsync=always' && tier redis os-cache 'appendonly=yes, appendfsync=no' &&
    tier redis memory 'appendonly=no, .*save=,' && tier redis shipped 'appendonly=no, .*save=3600' &&
    tier postgres fsync ' fsync=on.*shared_buffers=1GB, synchronous_commit=on\|"fsync=on' && tier postgres os-cache 'fsync=off' &&
    tier postgres memory 'synchronous_commit=off' && tier postgres shipped 'shared_buffers=128MB' && nothing_left
}

the_cache_is_set() {
  ./run.sh --quick --benchmark single --ops 5 --system tigerbeetle --csv "$csv" --data "$data" \
    >"$scratch/stdout" 2>"$scratch/stderr" && tier tigerbeetle fsync 'cache_grid=[0-9]*MiB' && nothing_left
}

# a_run FLAG...: what is measured is told by flags alone.
a_run() { ./run.sh "$@" --csv "$csv" --data "$data" >"$scratch/stdout" 2>"$scratch/stderr"; }

the_floor_is_measured_with_the_rest() {
  a_run --quick --suite ledger,floor --benchmark single,loopback,disk_dsync,disk_fdatasync --ops 200 --system redis,postgres &&
    grep -q 'x floor' "$scratch/stdout" && [[ $(grep -c ',floor,.*,machine,.*,yes,' "$csv") == 3 ]] && nothing_left
}

a_sweep() { ./run.sh sweep "$@" --csv "$csv" --data "$data" >"$scratch/stdout" 2>"$scratch/stderr"; }
resume() { ./run.sh sweep --resume "$@" --csv "$csv" >"$scratch/stdout" 2>"$scratch/stderr"; }
some_cells() { [[ $(grep -c ',sweep,transfers,' "$csv" 2>/dev/null) -ge 2 ]]; }
samples_in_csv() { awk -F, 'NR > 1 { print $2, $5, $7, $8, $10, $12 }' "$csv" | sort -u | wc -l; }

# Four cells and three floors in two rounds: broken off, gone on with, and gone on with where one has failed.
a_sweep_is_gone_on_with() {
  local before
  set -m
  a_sweep --system redis --batch 1,10 --clients 1,4 --accounts 2 --rtt 0 --rounds 2 --warmup 10ms --time 300ms &
  pid=$!
  set +m
  within 60 some_cells && kill -INT -- "-$pid" && exits 130 wait "$pid" && nothing_left && told "to go on: .* --resume" || return
  before=$(samples_in_csv)
  ((before < 14)) && exits 2 resume --batch 1 && exits 0 resume || return
  told "$before of 14 samples are there" && [[ $(samples_in_csv) == 14 && $(grep -c . "$csv") == 15 ]] || return
  sed -i '0,/,sweep,/{/,sweep,/s/,yes,/,no,/}' "$csv"
  exits 0 resume && told '13 of 14 samples are there' && [[ $(grep -c . "$csv") == 16 ]] && nothing_left
}

# held BENCHMARK SYSTEM TEXT COUNT: so many verified rows have the text.
held() { [[ $(grep -c ",calibration,$1,$2,.*,yes,.*$3" "$csv") -ge $4 ]]; }

ours_is_held_against_the_systems_own_tools() {
  exits 0 a_run_of_calibration --quick --time 100ms && held round_trip redis 'redis-benchmark 7\|valkey-benchmark' 4 &&
    held round_trip postgres 'pgbench 1' 4 && held transfer postgres 'pgbench 1' 2 && held parallel postgres 'pgbench 1' 2 &&
    held batch tigerbeetle 'tigerbeetle benchmark 0' 1 && [[ $(grep -c ',calibration,.*,unix,own,' "$csv") == 6 ]] &&
    grep -q 'its own/op' "$scratch/stdout" && ! told 'failed' && nothing_left
}
a_run_of_calibration() { ./run.sh calibrate "$@" --csv "$csv" --data "$data" >"$scratch/stdout" 2>"$scratch/stderr"; }

# More messages than TigerBeetle has between two checkpoints.
a_sample_is_told_from_inside() {
  a_run --quick --benchmark single --ops 2500 --interval 100ms &&
    [[ $(sum_of ops tigerbeetle) == 2500 && $(sum_of ops postgres) == 2500 ]] && (($(sum_of checkpoints tigerbeetle) > 0)) &&
    (($(sum_of log_bytes postgres) > 0 && $(sum_of log_bytes redis) > 0)) &&
    grep -q '<figcaption>Inside a sample: transfers/s' "$scratch/report.html" &&
    grep -q '<li>TigerBeetle, round 1 of .*: checkpoint at ' "$scratch/report.html" && nothing_left
}
# sum_of COLUMN SYSTEM: over its intervals.
sum_of() {
  awk -F, -v column="$1" -v wanted="$2" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
    $at["system"] == wanted { sum += $at[column] } END { print sum + 0 }' "${csv%.csv}.series.csv"
}

only_private_servers_are_kept_apart() {
  (($(nproc) > 1)) || return 0
  a_run --quick --suite seed --benchmark basic --ops 50 --system redis,memory --pin &&
    [[ $(cores_of redis) == "$(nproc),1,"* && $(cores_of memory) == "$(nproc),," ]] && nothing_left
}
# cores_of SYSTEM: the columns cores, server_cores and client_cores of its row.
cores_of() {
  awk -F, -v wanted="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "cores") back = NF - i }
    $8 == wanted { print $(NF - back) "," $(NF - back + 1) "," $(NF - back + 2) }' <(sed 's/"[^"]*"/text/g' "$csv")
}

cores_are_kept_apart() {
  (($(nproc) > 1)) || return 0
  local server client status=0
  run_long --system redis --pin
  server=$(sed -n 's/^Cpus_allowed_list:\s*//p' "/proc/$(measured_server)/status")
  client=$(sed -n 's/^Cpus_allowed_list:\s*//p' "/proc/$(measuring_client)/status")
  kill -TERM "$pid"
  exits 143 wait "$pid" || status=1
  [[ -n $server && -n $client && $server != "$client" ]] && told "servers on cores $server.*, the client on" || status=1
  return "$status"
}
measured_server() { find /proc/[0-9]*/cwd -maxdepth 0 -lname "$data/ledger-bench-redis/*" 2>/dev/null | cut -d/ -f3; }
measuring_client() { grep -al "[l]edger-bench.run.*$scratch" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 | tail -n 1; }

# column NAME: of all rows; one that stands before any text with commas.
column() { awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) place = i; next } { print $place }' "$csv"; }

# Nothing can be answered sooner than the network lets it.
a_network_of_ones_own() {
  local fastest
  a_run --quick --suite ledger --benchmark single --ops 40 --rtt 2ms && [[ $(column rtt_us) == $'2000\n2000\n2000' ]] &&
    [[ $(column verified) == $'yes\nyes\nyes' ]] && nothing_left || return 1
  for fastest in $(column latency_ns_min); do ((fastest >= 2000000)) || return 1; done
}

# relay_of PID: the relay that a run has started.
relay_of() {
  local status
  while read -r status; do
    if grep -aqs 'ledger-bench.relay' "${status%status}cmdline"; then cut -d/ -f3 <<<"$status"; fi
  done < <(grep -ls "^PPid:\s*$1\$" /proc/[0-9]*/status)
}

# relay_ended_by STATUS KILL-ARGUMENT... (PID stands for the run's)
relay_ended_by() {
  local relay
  run_long --system redis --rtt 2ms && relay=$(relay_of "$pid") && kill "${@:2:1}" -- "${3//PID/$pid}" &&
    exits "$1" wait "$pid" && within 10 none_of_ours && [[ -n $relay ]] && within 10 gone "$relay"
}

in_a_folder_closed_to_others() {
  mkdir -m 700 "$scratch/closed"
  data=$scratch/closed/data exits 0 run --system postgres && rows 1 && nothing_left
}

closed_folder_without_the_right() {
  setpriv --inh-caps=-dac_read_search --bounding-set=-dac_read_search true 2>/dev/null || return 0
  exits 1 setpriv --inh-caps=-dac_read_search --bounding-set=-dac_read_search "$BASH" -c "$(declare -f run)
    csv=$csv scratch=$scratch data=$scratch/closed/data; run --system postgres" &&
    told 'cannot enter .*--data' && nothing_left
}

a_second_run_is_refused() {
  run_long --system redis && exits 1 ./run.sh --quick 2>"$scratch/stderr" && told "in use by .*pid $pid"
  local refused=$?
  kill -TERM "$pid"
  exits 143 wait "$pid" && ((refused == 0))
}

secrets_stay_secret() {
  local conf=$data/ledger-bench-redis/redis.conf password kept=0
  run_long --system redis
  password=$(sed -n 's/^requirepass //p' "$conf")
  [[ ${#password} -ge 32 && $(stat -c %a "$conf" "$(dirname "$conf")") == $'600\n700' ]] || kept=1
  # The pattern by a pipe, or grep would find itself.
  ! grep -aqf <(echo "$password") /proc/[0-9]*/cmdline 2>/dev/null || kept=1
  kill -TERM "$pid"
  exits 143 wait "$pid" && ((kept == 0))
}

# ended_by STATUS KILL-ARGUMENT... (PID stands for the run's)
ended_by() {
  run_long --system "$2" && kill "${@:3:1}" -- "${4//PID/$pid}" && exits "$1" wait "$pid" && nothing_left
}

# Which of two signals that come at once is the first is not ours to say.
more_signals_change_nothing() {
  local status=0
  run_long --system postgres && kill -TERM "$pid"
  while kill -INT "$pid"; do :; done 2>/dev/null
  wait "$pid" || status=$?
  [[ $status == 143 || $status == 130 ]] && nothing_left
}

closed_terminal() {
  script --quiet --command "./run.sh --suite seed --benchmark basic --system redis --time 60s --csv $csv --data $data" \
    /dev/null >/dev/null 2>&1 &
  local terminal=$!
  disown
  within 60 measuring && kill -KILL "$terminal" && nothing_left
}

killed_outright() {
  run_long --system "$1" && kill -KILL "$pid"
  wait "$pid" 2>/dev/null
  within 10 none_of_ours && exits 0 run --system "$1" && rows 1 && nothing_left
}

# Field 22 of /proc/PID/stat; the name of a sleep holds no space.
left_by() { echo "$1 $2 $(($(cut -d' ' -f22 "/proc/$2/stat") + $3)) $(</proc/sys/kernel/random/boot_id)"; }

only_what_a_dead_run_left_is_ended() {
  local left other
  sleep 300 & left=$!
  disown
  sleep 300 & other=$!
  disown
  { left_by redis "$left" 0 && left_by redis "$other" 1; } >target/servers.pids
  exits 2 run --no-such-flag && ! kill -0 "$left" 2>/dev/null && kill -0 "$other"
  local status=$?
  kill "$other"
  return "$status"
}

a_dead_server_fails_one_sample() {
  time=2s run_long --system redis --rounds 2
  kill -KILL "$(find /proc/[0-9]*/cwd -maxdepth 0 -lname "$data/ledger-bench-redis/*" 2>/dev/null | cut -d/ -f3)"
  exits 1 wait "$pid" && told 'server died' && [[ $(grep -c ',seed,basic,redis,.*,yes,' "$csv") == 1 ]] && nothing_left
}

refused() { # PATTERN FLAG...
  exits 2 run "${@:2}" && told "$1" && [[ ! -e $csv && ! -e $data ]] && nothing_left
}

refused_socket() {
  data=$scratch/$(printf 'a%.0s' {1..100}) refused 'unix sockets need a shorter path' --system redis --transport unix
}

memory_is_no_disk() {
  [[ $(stat -f -c %T /dev/shm) == tmpfs ]] || return 0
  data=/dev/shm/${scratch##*/} refused tmpfs
}

an_older_server() {
  printf '#!/bin/sh\necho "TigerBeetle version 0.16.1+abc"\n' >"$beside/tigerbeetle"
  chmod 755 "$beside/tigerbeetle"
  TIGERBEETLE=$beside/tigerbeetle refused '0\.16\.1, older than .* 0\.' --system tigerbeetle
}

the_user_s_own_server() {
  REDIS_URL=redis://127.0.0.1:$1/ exits 0 run --system redis && rows 1 && [[ ! -e $data ]] && nothing_left && bystander_answers "$1"
}

bystanders_unharmed() {
  local port
  for port in "$@"; do bystander_answers "$port" || return 1; done
}

for port in 3000 5432 6379 17171; do bystander "$port"; done
within 10 bystanders_unharmed 17171 || exit 1

check 'all three systems, beside servers on their usual ports' all_three_systems
check 'tiers of durability are set and read back' tiers_are_set_and_read_back
check "TigerBeetle's cache is set" the_cache_is_set
check 'the floor is measured with the rest' the_floor_is_measured_with_the_rest
check 'a sample from inside' a_sample_is_told_from_inside
check 'calibration against the systems own tools' ours_is_held_against_the_systems_own_tools
check 'a sweep is broken off and gone on with' a_sweep_is_gone_on_with
check "a network of one's own: nothing is faster than it" a_network_of_ones_own
check 'Ctrl-C ends the relay' relay_ended_by 130 -INT -PID
check 'kill -9 ends the relay' relay_ended_by 137 -KILL PID
check 'cores are kept apart' cores_are_kept_apart
check 'cores of what is not ours are not' only_private_servers_are_kept_apart
check 'sockets in a path that is too long' refused_socket
if ((EUID == 0)); then
  check 'PostgreSQL in a folder that its user cannot enter' in_a_folder_closed_to_others
  check 'the same without the right to enter it' closed_folder_without_the_right
fi
check 'a second run in this checkout is refused by name' a_second_run_is_refused
check 'passwords are in no command line and in no open file' secrets_stay_secret
check 'Ctrl-C, TigerBeetle' ended_by 130 tigerbeetle -INT -PID
check 'Ctrl-C, PostgreSQL' ended_by 130 postgres -INT -PID
check 'TERM to run.sh alone' ended_by 143 redis -TERM PID
check 'more signals while it ends' more_signals_change_nothing
check 'a closed terminal' closed_terminal
check 'kill -9, TigerBeetle' killed_outright tigerbeetle
check 'kill -9, Redis' killed_outright redis
check 'kill -9, PostgreSQL' killed_outright postgres
check 'only what a dead run left is ended' only_what_a_dead_run_left_is_ended
check 'a server that dies fails its sample, not the next' a_dead_server_fails_one_sample
check 'an unknown flag' refused '--rounds' --round 3
check 'data in memory' memory_is_no_disk
check 'a server older than the client' an_older_server
check 'a server of the user is used and left alone' the_user_s_own_server 17171
REDIS_URL=redis://127.0.0.1:1/ check 'an unreachable server' refused '127\.0\.0\.1:1' --system redis
check 'the servers beside are unharmed' bystanders_unharmed 17171

echo "$passed passed, $failed failed"
((failed == 0))
