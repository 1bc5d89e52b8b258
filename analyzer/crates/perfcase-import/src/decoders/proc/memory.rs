//! /proc/meminfo, to rows of `proc_memory`: the column of each name.

use perfcase_decode::proc::meminfo::MemInfo;

use super::rows::signed;
use crate::tables::ProcMemoryRow;

/// Declares the column of each name, a line for each.
macro_rules! columns {
    ($(($name:literal, $column:ident),)*) => {
        /// The names of /proc/meminfo that have a column.
        pub const NAMES: &[&str] = &[$($name),*];

        /// The row of a snapshot.
        pub fn row(ts_ns: i64, snapshot: u32, source_id: u16, info: &MemInfo) -> ProcMemoryRow {
            ProcMemoryRow { ts_ns, snapshot, source_id, $($column: signed(info.get($name))),* }
        }
    };
}

columns! {
("MemTotal", mem_total_bytes),
("MemFree", mem_free_bytes),
("MemAvailable", mem_available_bytes),
("Buffers", buffers_bytes),
("Cached", cached_bytes),
("SwapCached", swap_cached_bytes),
("Active", active_bytes),
("Inactive", inactive_bytes),
("Active(anon)", active_anon_bytes),
("Inactive(anon)", inactive_anon_bytes),
("Active(file)", active_file_bytes),
("Inactive(file)", inactive_file_bytes),
("Unevictable", unevictable_bytes),
("Mlocked", mlocked_bytes),
("SwapTotal", swap_total_bytes),
("SwapFree", swap_free_bytes),
("Zswap", zswap_bytes),
("Zswapped", zswapped_bytes),
("Dirty", dirty_bytes),
("Writeback", writeback_bytes),
("AnonPages", anon_pages_bytes),
("Mapped", mapped_bytes),
("Shmem", shmem_bytes),
("KReclaimable", kernel_reclaimable_bytes),
("Slab", slab_bytes),
("SReclaimable", slab_reclaimable_bytes),
("SUnreclaim", slab_unreclaimable_bytes),
("KernelStack", kernel_stack_bytes),
("PageTables", page_tables_bytes),
("SecPageTables", sec_page_tables_bytes),
("NFS_Unstable", nfs_unstable_bytes),
("Bounce", bounce_bytes),
("WritebackTmp", writeback_tmp_bytes),
("CommitLimit", commit_limit_bytes),
("Committed_AS", committed_as_bytes),
("VmallocTotal", vmalloc_total_bytes),
("VmallocUsed", vmalloc_used_bytes),
("VmallocChunk", vmalloc_chunk_bytes),
("Percpu", percpu_bytes),
("HardwareCorrupted", hardware_corrupted_bytes),
("AnonHugePages", anon_huge_pages_bytes),
("ShmemHugePages", shmem_huge_pages_bytes),
("ShmemPmdMapped", shmem_pmd_mapped_bytes),
("FileHugePages", file_huge_pages_bytes),
("FilePmdMapped", file_pmd_mapped_bytes),
("CmaTotal", cma_total_bytes),
("CmaFree", cma_free_bytes),
("Unaccepted", unaccepted_bytes),
("Balloon", balloon_bytes),
("Hugepagesize", huge_page_size_bytes),
("Hugetlb", hugetlb_bytes),
("DirectMap4k", direct_map_4k_bytes),
("DirectMap2M", direct_map_2m_bytes),
("DirectMap4M", direct_map_4m_bytes),
("DirectMap1G", direct_map_1g_bytes),
("HugePages_Total", huge_pages_total_count),
("HugePages_Free", huge_pages_free_count),
("HugePages_Rsvd", huge_pages_rsvd_count),
("HugePages_Surp", huge_pages_surp_count),}
