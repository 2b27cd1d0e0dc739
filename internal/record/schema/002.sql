-- Schema 2: more signals in each sample, and runs that were taken up again.
-- Bytes, pages, events, ns and us (psi) as docs/record.md says of each.
ALTER TABLE samples ADD COLUMN workers INTEGER;
ALTER TABLE samples ADD COLUMN busy INTEGER;
ALTER TABLE samples ADD COLUMN idle INTEGER;
ALTER TABLE samples ADD COLUMN queued INTEGER;
ALTER TABLE samples ADD COLUMN cg_memory INTEGER;
ALTER TABLE samples ADD COLUMN cg_anon INTEGER;
ALTER TABLE samples ADD COLUMN cg_file INTEGER;
ALTER TABLE samples ADD COLUMN cg_slab INTEGER;
ALTER TABLE samples ADD COLUMN cg_swap INTEGER;
ALTER TABLE samples ADD COLUMN cg_refault_anon INTEGER;
ALTER TABLE samples ADD COLUMN cg_refault_file INTEGER;
ALTER TABLE samples ADD COLUMN cg_oom_kills INTEGER;
ALTER TABLE samples ADD COLUMN cg_max INTEGER;
ALTER TABLE samples ADD COLUMN cg_psi_mem_some INTEGER;
ALTER TABLE samples ADD COLUMN cg_psi_mem_full INTEGER;
ALTER TABLE samples ADD COLUMN cg_cpu_ns INTEGER;
ALTER TABLE samples ADD COLUMN cg_throttled_ns INTEGER;
ALTER TABLE samples ADD COLUMN cg_throttled INTEGER;
ALTER TABLE samples ADD COLUMN delay_reclaim_ns INTEGER;
ALTER TABLE samples ADD COLUMN delay_swapin_ns INTEGER;
ALTER TABLE samples ADD COLUMN delay_thrash_ns INTEGER;
ALTER TABLE samples ADD COLUMN delay_io_ns INTEGER;
ALTER TABLE samples ADD COLUMN heap_used INTEGER;
ALTER TABLE samples ADD COLUMN heap_total INTEGER;
ALTER TABLE samples ADD COLUMN external INTEGER;
ALTER TABLE samples ADD COLUMN array_buffers INTEGER;
ALTER TABLE samples ADD COLUMN kswapd_cpu_ns INTEGER;
ALTER TABLE samples ADD COLUMN direct_reclaims INTEGER;
ALTER TABLE samples ADD COLUMN direct_reclaim_ns INTEGER;
ALTER TABLE samples ADD COLUMN platform_cpu_ns INTEGER;
ALTER TABLE samples ADD COLUMN platform_rss INTEGER;
ALTER TABLE samples ADD COLUMN lateness_ns INTEGER;
ALTER TABLE samples ADD COLUMN user_ns INTEGER;
ALTER TABLE samples ADD COLUMN system_ns INTEGER;
ALTER TABLE samples ADD COLUMN idle_ns INTEGER;
ALTER TABLE samples ADD COLUMN iowait_ns INTEGER;
ALTER TABLE samples ADD COLUMN steal_ns INTEGER;
ALTER TABLE samples ADD COLUMN buffers INTEGER;
ALTER TABLE samples ADD COLUMN swap_cached INTEGER;
ALTER TABLE samples ADD COLUMN dirty INTEGER;
ALTER TABLE samples ADD COLUMN mapped INTEGER;
ALTER TABLE samples ADD COLUMN shmem INTEGER;
ALTER TABLE samples ADD COLUMN s_reclaimable INTEGER;
ALTER TABLE samples ADD COLUMN s_unreclaim INTEGER;
ALTER TABLE samples ADD COLUMN kernel_stack INTEGER;
ALTER TABLE samples ADD COLUMN page_tables INTEGER;
ALTER TABLE samples ADD COLUMN pgscan_anon INTEGER;
ALTER TABLE samples ADD COLUMN pgscan_file INTEGER;
ALTER TABLE samples ADD COLUMN pgsteal_anon INTEGER;
ALTER TABLE samples ADD COLUMN pgsteal_file INTEGER;
ALTER TABLE samples ADD COLUMN pgscan_khugepaged INTEGER;
ALTER TABLE samples ADD COLUMN pgsteal_khugepaged INTEGER;
ALTER TABLE samples ADD COLUMN pgscan_proactive INTEGER;
ALTER TABLE samples ADD COLUMN pgsteal_proactive INTEGER;
ALTER TABLE samples ADD COLUMN pgscan_direct_throttle INTEGER;
ALTER TABLE samples ADD COLUMN allocstall_normal INTEGER;
ALTER TABLE samples ADD COLUMN pgrefill INTEGER;
ALTER TABLE samples ADD COLUMN pgactivate INTEGER;
ALTER TABLE samples ADD COLUMN pgdeactivate INTEGER;
ALTER TABLE samples ADD COLUMN slabs_scanned INTEGER;
ALTER TABLE samples ADD COLUMN pageoutrun INTEGER;
ALTER TABLE samples ADD COLUMN compact_stall INTEGER;
ALTER TABLE samples ADD COLUMN workingset_activate INTEGER;
ALTER TABLE samples ADD COLUMN workingset_restore INTEGER;
ALTER TABLE samples ADD COLUMN workingset_nodereclaim INTEGER;
ALTER TABLE samples ADD COLUMN pgpgin INTEGER;
ALTER TABLE samples ADD COLUMN pgpgout INTEGER;
ALTER TABLE samples ADD COLUMN pgfault INTEGER;
ALTER TABLE samples ADD COLUMN disk_reads INTEGER;
ALTER TABLE samples ADD COLUMN disk_writes INTEGER;
ALTER TABLE samples ADD COLUMN disk_read_bytes INTEGER;
ALTER TABLE samples ADD COLUMN disk_write_bytes INTEGER;
ALTER TABLE samples ADD COLUMN disk_busy_ns INTEGER;
ALTER TABLE samples ADD COLUMN disk_queue_ns INTEGER;
ALTER TABLE samples ADD COLUMN disk_in_flight INTEGER;

-- One row for each time that a run which had ended early was taken up again:
-- when, by which version, the id of the first repetition begun since, and what
-- was known of how the run had ended before.
CREATE TABLE resumptions (
  id              INTEGER PRIMARY KEY,
  at_ns           INTEGER NOT NULL,
  brink           TEXT NOT NULL,
  from_repetition INTEGER NOT NULL,
  status          TEXT NOT NULL,
  reason          TEXT NOT NULL
) STRICT;
