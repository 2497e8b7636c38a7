# Helpers shared by test/check, test/demo, test/bench/run and test/chaos/run: packages, build, and throwaway
# clusters. Sourced, not run; the caller has `set -u`.
#
#   PG_CONFIG    which PostgreSQL to build for and run (default: that of this Debian release, else the one on PATH)
#   CUDA_ARCHS   architectures to build the CUDA engine for, where nvcc is found (default here: those of this
#                machine's GPUs, or 90; all that are supported take minutes)
#   NVCC         the CUDA compiler; empty: build without the CUDA engine (default: where one is found)
#   JOBS         parallel jobs of make (default: processors)
#
# A cluster lives in a temporary folder with its own socket directory, belongs to a user who is not root, listens
# on no address, and is gone when the script ends, however it ends.

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Nothing where there is no GPU, or no driver that answers; the callers may have `set -e` and pipefail.
find_archs() {
    nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | tr -d . | grep -xE '[0-9]+' | sort -u | paste -sd' ' || true
}
CUDA_ARCHS="${CUDA_ARCHS:-$(find_archs)}"
export CUDA_ARCHS="${CUDA_ARCHS:-90}"
JOBS="${JOBS:-$(nproc)}"

say() { printf '\n\033[1m== %s\033[0m\n' "$*" >&2; }
die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# Which Debian release ships which PostgreSQL.
declare -A releases=([15]=bookworm [17]=trixie [18]=sid)
# The one of this machine's; of the latest where the release is another one, since the next one's name is that of sid.
own_major() {
    local major codename
    codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null || true)
    for major in "${!releases[@]}"; do
        [ "${releases[$major]}" != "$codename" ] || { echo "$major"; return; }
    done
    printf '%s\n' "${!releases[@]}" | sort -n | tail -1
}

# What building and running needs on a bare Debian 12 or 13; the tests name their own on top. Another PostgreSQL than
# the release's is for who sets PG_CONFIG to install.
build_packages=(g++ make procps libicu-dev libtbb-dev)
[ -n "${PG_CONFIG:-}" ] || build_packages+=("postgresql-$(own_major)" "postgresql-server-dev-$(own_major)")

# install_packages NAME...: those that are missing, where this is Debian and we are root.
install_packages() {
    command -v dpkg-query >/dev/null || return 0
    local missing=() name
    for name; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null)" = installed ] || missing+=("$name")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    [ "$(id -u)" = 0 ] || die "these packages are missing: ${missing[*]}"
    say "installing ${missing[*]}"
    apt-get update -qq >&2 || return
    DEBIAN_FRONTEND=noninteractive apt-get install -o DPkg::Lock::Timeout=300 -y -qq --no-install-recommends "${missing[@]}" \
        >"$work/apt.log" 2>&1 || { tail -20 "$work/apt.log" >&2; return 1; }
}

# What was compiled before, in whatever folder, is not compiled again, where there is ccache and a folder for its cache. Debug
# information then names the folder that it was compiled in first.
use_ccache() {
    echo 'int x;' >"$work/x.cpp" && ccache g++ -c "$work/x.cpp" -o "$work/x.o" 2>/dev/null || return 0
    export CCACHE=ccache CCACHE_NOHASHDIR=1
}

# Sets PG_CONFIG (exported), pg_bin and pg_tests (the folder of pg_regress and isolationtester).
find_postgres() {
    if [ -z "${PG_CONFIG:-}" ]; then
        PG_CONFIG=/usr/lib/postgresql/$(own_major)/bin/pg_config
        [ -x "$PG_CONFIG" ] || PG_CONFIG=$(command -v pg_config) || die "no pg_config found"
    fi
    export PG_CONFIG
    pg_bin=$("$PG_CONFIG" --bindir)
    pg_tests=$(dirname "$("$PG_CONFIG" --pgxs)")/../test
}

# build_and_install [NAME=VALUE...]: extension and server into the PostgreSQL of PG_CONFIG.
build_and_install() {
    make -C "$top" -j"$JOBS" PG_CONFIG="$PG_CONFIG" "$@" all &&
        make -C "$top" -s PG_CONFIG="$PG_CONFIG" "$@" install
}

# copy_postgres ROOT: a copy of the PostgreSQL of PG_CONFIG and what is installed in it, for other builds of gpujoin. It
# finds its folders relative to its binaries, in pg_bin from then on.
copy_postgres() {
    local folders=("$("$PG_CONFIG" --bindir)" "$("$PG_CONFIG" --pkglibdir)" "$("$PG_CONFIG" --sharedir)")
    mkdir -p "$1" && tar -C / -chf - "${folders[@]#/}" | tar -C "$1" -xf - && pg_bin=$1${folders[0]}
}

# build_with_faults ROOT: gpujoin with faults injected (FAULTS=1), in a copy of PostgreSQL. Built in a copy of the checkout,
# since PGXS makes gpujoin.so there; what was built in the checkout is taken along: few objects know of faults.
build_with_faults() {
    local tree=$work/faulty
    mkdir "$tree"
    tar -C "$top" --exclude='./build-*' --exclude=./build/{cuda,test,gpujoin_server,unit_tests,engine_bench} --exclude=./gpujoin.so \
        --exclude=./.git -cf - . | tar -C "$tree" -xf -
    copy_postgres "$1" && make -C "$tree" -j"$JOBS" PG_CONFIG="$PG_CONFIG" NVCC= FAULTS=1 all >"$work/build.log" 2>&1 &&
        make -C "$tree" -s PG_CONFIG="$PG_CONFIG" NVCC= FAULTS=1 DESTDIR="$1" install >>"$work/build.log" 2>&1 && return
    tail -20 "$work/build.log" >&2
    return 1
}

# The work folder: everything a script writes outside the checkout.
make_work_folder() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/gpujoin.XXXXXX") || exit 1
    chmod 755 "$work"
    clusters=()
    trap 'clean_up' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM HUP
}
clean_up() {
    trap '' INT TERM HUP
    local cluster
    for cluster in "${clusters[@]}"; do stop_cluster "$cluster" immediate; done
    rm -rf "$work"
}

# as_user COMMAND...: as the user that owns the clusters: postgres when we are root, else ourselves.
as_user() {
    if [ "$(id -u)" = 0 ]; then
        setpriv --reuid=postgres --regid=postgres --init-groups env HOME="$work" "$@"
    else
        "$@"
    fi
}
give_to_user() { [ "$(id -u)" != 0 ] || chown -R postgres:postgres "$@"; }

# start_cluster NAME [SETTING=VALUE...]: makes and starts a cluster with gpujoin preloaded and points PGHOST,
# PGUSER and PGDATABASE at it. Its folder is $work/NAME, its log $work/NAME/log.
start_cluster() {
    local name=$1 folder=$work/$1 setting
    shift
    mkdir -p "$folder/socket" && chmod 755 "$folder" && give_to_user "$folder" || return
    as_user "$pg_bin/initdb" -D "$folder/data" -U postgres -A trust -N -E UTF8 --locale=C.UTF-8 \
        >"$folder/initdb.log" 2>&1 || { tail -5 "$folder/initdb.log" >&2; return 1; }
    {
        echo "listen_addresses = ''"
        echo "unix_socket_directories = '$folder/socket'"
        echo "shared_preload_libraries = 'gpujoin'"
        echo "fsync = off"
        echo "jit = off"
        for setting; do echo "${setting%%=*} = '${setting#*=}'"; done
    } >>"$folder/data/postgresql.conf"
    clusters+=("$name")
    # setsid: a Ctrl-C at this terminal is for the script, which then stops the cluster.
    as_user setsid "$pg_bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 600 start >"$folder/pg_ctl.log" 2>&1 ||
        { tail -20 "$folder/log" >&2; return 1; }
    export PGHOST="$folder/socket" PGUSER=postgres PGDATABASE=postgres PGPORT=5432
    PATH="$pg_bin:$PATH"
}

# start_standby PRIMARY NAME: makes a standby of a cluster and starts it, with its socket in $work/NAME/socket.
start_standby() {
    local folder=$work/$2
    mkdir -p "$folder/socket" && chmod 755 "$folder" && give_to_user "$folder" || return
    as_user "$pg_bin/pg_basebackup" -h "$work/$1/socket" -U postgres -D "$folder/data" -R -c fast --no-sync || return
    echo "unix_socket_directories = '$folder/socket'" >>"$folder/data/postgresql.conf"
    clusters+=("$2")
    as_user setsid "$pg_bin/pg_ctl" -D "$folder/data" -l "$folder/log" -w -t 600 start >"$folder/pg_ctl.log" 2>&1 ||
        { tail -20 "$folder/log" >&2; return 1; }
}

# stop_cluster NAME [MODE]
stop_cluster() {
    local folder=$work/$1
    [ -f "$folder/data/postmaster.pid" ] || return 0
    as_user "$pg_bin/pg_ctl" -D "$folder/data" -m "${2:-fast}" -w -t 600 stop >/dev/null 2>&1
}

# restart_cluster NAME [VARIABLE=VALUE...]: with these in its environment.
restart_cluster() {
    local folder=$work/$1
    shift
    as_user env "$@" setsid "$pg_bin/pg_ctl" -D "$folder/data" -l "$folder/log" -m fast -w -t 600 restart >/dev/null
}

# eventually COMMAND...: repeats the command until it succeeds; fails when it does not for three minutes, in which
# whoever is late on a busy machine is there.
eventually() {
    local end=$((SECONDS + 180))
    until "$@"; do
        [ $SECONDS -lt $end ] || return
        sleep 0.1
    done
}

# wait_for_gpujoin: until the server of the cluster takes joins, else prints its status.
wait_for_gpujoin() {
    psql -Xqc 'CREATE EXTENSION IF NOT EXISTS gpujoin' || return
    eventually gpujoin_is_ready || { psql -Xxc 'SELECT * FROM gpujoin_status()' >&2; return 1; }
}
gpujoin_is_ready() { [ "$(psql -XAtqc 'SELECT ready FROM gpujoin_status()')" = t ]; }

# The machine in one line, for reports.
describe_machine() {
    local gpu
    gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -1)
    printf '%s processors (%s), %s GiB memory, %s' "$(nproc)" \
        "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -1)" \
        "$(awk '/MemTotal/{printf "%.0f", $2 / 1048576}' /proc/meminfo)" "${gpu:-no GPU}"
}
