# shellcheck shell=sh
# host.sh: what the host is: kernel, CPU and caches, NUMA, disks, settings, kernel log and symbols. No process arguments, no
# environment.
HOST_FILES='/proc/version /proc/cpuinfo /proc/cmdline /proc/modules /proc/meminfo /proc/mounts /proc/partitions
/proc/swaps /proc/filesystems /proc/devices /proc/uptime /etc/os-release'
HOST_SYSCTLS='kernel/perf_event_paranoid kernel/kptr_restrict kernel/sched_schedstats kernel/numa_balancing
kernel/pid_max kernel/threads-max kernel/watchdog vm/swappiness vm/dirty_ratio vm/dirty_background_ratio
vm/overcommit_memory vm/overcommit_ratio vm/max_map_count vm/vfs_cache_pressure vm/nr_hugepages vm/watermark_scale_factor
vm/dirty_expire_centisecs vm/dirty_writeback_centisecs kernel/sched_rt_runtime_us kernel/sched_autogroup_enabled
kernel/randomize_va_space kernel/timer_migration kernel/hung_task_timeout_secs fs/aio-max-nr fs/nr_open
net/core/default_qdisc net/core/netdev_max_backlog net/ipv4/tcp_max_syn_backlog net/ipv4/ip_local_port_range
net/ipv4/tcp_fin_timeout net/ipv4/tcp_tw_reuse net/ipv4/tcp_keepalive_time net/ipv4/tcp_slow_start_after_idle
vm/min_free_kbytes vm/zone_reclaim_mode net/core/somaxconn net/core/rmem_max net/core/wmem_max
net/ipv4/tcp_congestion_control net/ipv4/tcp_rmem net/ipv4/tcp_wmem fs/file-max net/ipv4/tcp_mem net/ipv4/tcp_max_orphans
net/netfilter/nf_conntrack_max net/core/netdev_budget net/core/netdev_budget_usecs'

probe_host_check() {
	source_set host kind host_file
	source_set host tool sh
	source_set host clock ''
	# as root; with kernel.kptr_restrict=2 addresses are zero even then
	case $(head -n 1 /proc/kallsyms 2>/dev/null) in
	'') source_is host degraded "no /proc/kallsyms: kernel functions have no names" "a kernel with CONFIG_KALLSYMS" ;;
	0000000000000000*)
		if [ "$uid" = 0 ] && [ "$(cat /proc/sys/kernel/kptr_restrict 2>/dev/null)" = 2 ]; then
			source_is host degraded "kernel.kptr_restrict=2 hides kernel addresses" "sysctl kernel.kptr_restrict=1"
		elif [ "$uid" = 0 ] && ! grep -qv -m 1 '^0* ' /proc/kallsyms; then
			source_is host degraded "kernel addresses are hidden" "run outside a restricted container"
		elif [ "$uid" = 0 ]; then
			source_is host available
		else
			source_is host degraded "kernel addresses are hidden from this user" "run as root"
		fi
		;;
	*) source_is host available ;;
	esac
}

probe_host_start() {
	source_set host started "${clock_start%% *}"
}

probe_host_stop() { :; }

probe_host_collect() {
	mkdir -p "$staging/host"
	# shellcheck disable=SC2086 # a list
	cp $HOST_FILES "$staging/host/" 2>"$state/host.log"
	cat "$state/host.log" >>"$log_file"
	host_failed=$(grep -v -e 'No such file' -e 'Permission denied' -e 'Operation not permitted' "$state/host.log" | head -n 1)
	[ -z "$host_failed" ] || source_lacks host "a file was not copied: $host_failed" "space on the disk of $output"
	uname -a >"$staging/host/uname"
	host_take kallsyms kallsyms
	host_sysctls >"$staging/host/sysctl"
	host_cpus >"$staging/host/cpu-topology"
	"$helper" clock >"$staging/host/clock" 2>>"$log_file"
	host_log
	host_disks >"$staging/host/block-queues"
	find "$staging/host" -type f -size 0 -exec rm -f {} +
}

# host_take NAME WORD...: what the helper prints becomes a file. That the kernel has nothing to print is known already.
host_take() {
	host_name=$1
	shift
	"$helper" "$@" >"$staging/host/$host_name" 2>"$state/host.log" && return
	cat "$state/host.log" >>"$log_file"
	[ -e "$staging/host/$host_name" ] && ! grep -q 'cannot be written' "$state/host.log" ||
		source_lacks host "host/$host_name is cut, or not there" "see recorder/log; space on the disk of $output"
}

# "name = value" lines.
host_sysctls() {
	set --
	for name in $HOST_SYSCTLS; do
		set -- "$@" "/proc/sys/$name"
	done
	grep -sHm 1 '' "$@" | sed 's,^/proc/sys/,,; s,:, = ,'
}

# Topology, caches and frequency limits, "path = value" below /sys/devices/system.
host_cpus() {
	# Not by the shell's read: it asks for a byte at a time, and the kernel's lists of CPUs then come back empty (since 5.16).
	grep -sHm 1 '' /sys/devices/system/cpu/online /sys/devices/system/cpu/offline /sys/devices/system/cpu/possible \
		/sys/devices/system/cpu/cpufreq/boost /sys/devices/system/cpu/intel_pstate/no_turbo \
		/sys/devices/system/cpu/cpuidle/current_driver /sys/devices/system/cpu/cpuidle/current_governor \
		/sys/devices/system/clocksource/clocksource0/current_clocksource \
		/sys/devices/system/node/node[0-9]*/distance /sys/bus/event_source/devices/armv8_pmuv3*/caps/slots \
		/sys/devices/system/cpu/cpu[0-9]*/cpufreq/cpuinfo_min_freq \
		/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_min_freq \
		/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_max_freq \
		/sys/devices/system/cpu/cpu[0-9]*/cpufreq/base_frequency \
		/sys/devices/system/cpu/cpu[0-9]*/cpufreq/energy_performance_preference \
		/sys/devices/system/cpu/smt/active /sys/devices/system/node/online \
		/sys/devices/system/node/node[0-9]*/cpulist /sys/devices/system/cpu/vulnerabilities/* \
		/sys/devices/system/cpu/cpu[0-9]*/topology/core_id \
		/sys/devices/system/cpu/cpu[0-9]*/topology/physical_package_id \
		/sys/devices/system/cpu/cpu[0-9]*/topology/thread_siblings_list \
		/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_governor \
		/sys/devices/system/cpu/cpu[0-9]*/cpufreq/scaling_driver \
		/sys/devices/system/cpu/cpu[0-9]*/cpufreq/cpuinfo_max_freq \
		/sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]/level \
		/sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]/type \
		/sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]/size \
		/sys/devices/system/cpu/cpu[0-9]*/cache/index[0-9]/shared_cpu_list |
		sed 's,^/sys/devices/system/,,; s,:, = ,'
	for file in /sys/devices/system/node/node[0-9]*/meminfo; do
		[ -r "$file" ] && sed -n "s,^Node \([0-9]*\) MemTotal: *\([0-9]* kB\),node/node\1/memory = \2,p" "$file"
	done
	for file in /sys/kernel/mm/transparent_hugepage/enabled /sys/kernel/mm/transparent_hugepage/defrag; do
		[ -r "$file" ] && read -r value <"$file" && printf '%s = %s\n' "${file#/sys/}" "$value"
	done
	return 0
}

# The kernel's log; of a scoped recording without what programs wrote there.
host_log() {
	if [ "$mode" = system ]; then
		host_take kmsg kmsg
	else
		host_take kmsg kmsg kernel
	fi
}

host_disks() {
	for file in /sys/block/*/queue/scheduler /sys/block/*/queue/rotational /sys/block/*/queue/nr_requests \
		/sys/block/*/queue/read_ahead_kb /sys/block/*/queue/logical_block_size /sys/block/*/queue/write_cache \
		/sys/block/*/queue/max_sectors_kb /sys/block/*/queue/wbt_lat_usec /sys/block/*/queue/nomerges \
		/sys/block/*/size /sys/block/*/dev /sys/block/*/ro /sys/block/*/device/model; do
		[ -r "$file" ] && read -r value <"$file" 2>/dev/null && printf '%s = %s\n' "${file#/sys/block/}" "$value"
	done
	return 0
}
