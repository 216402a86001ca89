//! The table of clusters: base characters with their combining marks.
//!
//! The program controls its content, and a large screen has room for a million clusters, so the table is bounded. When
//! it is full, new marks are dropped and the base characters stay.

use crate::intern::Interner;

/// The maximum number of clusters. A full table takes 8 MB. No cluster is refused while the cells show at most half as
/// many; two screens of 200x40 have fewer cells.
pub const CLUSTERS_MAX: usize = 32 * 1024;

/// The number of screen cells per refused cluster after which a full table is swept again. A sweep reads all cells
/// twice, so a refused mark costs the time of a few hundred cells, far less than a sequence that fills the screen.
/// After a program has filled the table and cleared the largest screen, 8 000 marks are dropped before the table has
/// room again.
const REFUSAL_CELLS: usize = 64;

/// A two-way mapping between clusters and numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Clusters {
    table: Interner<Box<str>>,
    /// The number of clusters refused since the last sweep.
    refused: usize,
}

impl Clusters {
    /// Returns the number of a cluster, or `None` if it is new and the table is full.
    pub(crate) fn number(&mut self, cluster: &str) -> Option<u32> {
        let cluster = cluster.into();
        let is_room = self.table.len() < CLUSTERS_MAX || self.table.contains(&cluster);
        self.refused += usize::from(!is_room);
        is_room.then(|| self.table.number(&cluster))
    }

    /// Returns the text of a cluster.
    pub(crate) fn text(&self, number: u32) -> &str {
        self.table.value(number)
    }

    /// Returns whether unused clusters should be removed, for a screen of `cells` cells.
    pub(crate) fn is_sweep_due(&self, cells: usize) -> bool {
        self.table.is_full() || self.refused > cells / REFUSAL_CELLS
    }

    /// Keeps the clusters that `used` marks. Returns the new number for each old one.
    pub(crate) fn sweep(&mut self, used: &[bool]) -> Vec<u32> {
        self.refused = 0;
        self.table.sweep(used)
    }

    /// Returns the number of clusters in the table.
    pub(crate) fn len(&self) -> usize {
        self.table.len()
    }
}

/// Returns the base character of a cluster.
pub(crate) fn base_of(cluster: &str) -> char {
    cluster.chars().next().unwrap_or(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a full table.
    fn full() -> Clusters {
        let mut clusters = Clusters::default();
        // The default value has number 0.
        for i in 1..CLUSTERS_MAX {
            assert_eq!(clusters.number(&i.to_string()), Some(i as u32));
        }
        clusters
    }

    #[test]
    fn a_full_table_refuses_new_clusters_and_finds_old_ones() {
        let mut clusters = full();
        assert_eq!(clusters.number("new"), None);
        assert_eq!(clusters.number("7"), Some(7));
        assert_eq!(clusters.len(), CLUSTERS_MAX);
    }

    #[test]
    fn a_full_table_is_swept_after_enough_refusals() {
        let mut clusters = full();
        clusters.sweep(&vec![true; CLUSTERS_MAX]);
        let cells = 10 * REFUSAL_CELLS;
        for _ in 0..=10 {
            assert!(!clusters.is_sweep_due(cells));
            assert_eq!(clusters.number("new"), None);
        }
        assert!(clusters.is_sweep_due(cells));
        let mut used = vec![true; CLUSTERS_MAX];
        used[5] = false;
        clusters.sweep(&used);
        assert!(!clusters.is_sweep_due(cells));
        assert_eq!(clusters.number("new"), Some(CLUSTERS_MAX as u32 - 1));
        assert_eq!(clusters.number("5"), None);
    }
}
