# What the benchmarks of SQL joins share: the cluster they measure. Sourced, after test/lib.sh.

# start_bench_cluster WORKERS [SETTING=VALUE...]: builds and installs gpujoin, and starts a throwaway cluster that holds
# the tables in memory.
start_bench_cluster() {
    local workers=$1 memory_mb
    shift
    make_work_folder
    install_packages "${build_packages[@]}" python3
    find_postgres
    say "building and installing gpujoin"
    build_and_install >"$work/build.log" 2>&1 || { tail -30 "$work/build.log" >&2; die "the build failed"; }
    memory_mb=$(awk '/MemTotal/{print int($2 / 1024)}' /proc/meminfo)
    start_cluster bench shared_buffers=$((memory_mb / 4))MB max_wal_size=16GB max_parallel_workers="$workers" \
        max_worker_processes=$((workers + 8)) "$@"
}
