//! The table of all metrics. Dashboards, alerts and the documentation are tested against it.

/// A metric.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// Its name in a query; a histogram has the series `_bucket`, `_sum` and `_count`.
    pub name: String,
    /// Its kind.
    pub kind: MetricKind,
    /// What it measures.
    pub help: &'static str,
    /// The names of its labels.
    pub labels: Vec<&'static str>,
}

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricKind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// Durations in buckets.
    Histogram,
    /// Always 1; the labels carry the information.
    Info,
}

impl Metric {
    /// The series that a query can name, each with its labels.
    ///
    /// ```
    /// let metrics = metrics::Metrics::default();
    /// let waited = metrics.table().iter().find(|metric| metric.name == "workqueue_queue_duration_seconds");
    /// let (bucket, labels) = waited.unwrap().series()[0].clone();
    /// assert_eq!((bucket.as_str(), labels), ("workqueue_queue_duration_seconds_bucket", vec!["name", "le"]));
    /// ```
    pub fn series(&self) -> Vec<(String, Vec<&'static str>)> {
        let labels = || self.labels.clone();
        match self.kind {
            MetricKind::Counter | MetricKind::Gauge | MetricKind::Info => {
                vec![(self.name.clone(), labels())]
            }
            MetricKind::Histogram => {
                let bounds = [labels(), vec!["le"]].concat();
                vec![
                    (format!("{}_bucket", self.name), bounds),
                    (format!("{}_sum", self.name), labels()),
                    (format!("{}_count", self.name), labels()),
                ]
            }
        }
    }
}
