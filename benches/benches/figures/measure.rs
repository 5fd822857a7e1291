//! One run of one subject: from a namespace with sources and no targets to its figures.

use std::time::{Duration, Instant};

use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::Error;
use crate::job::{self, CONCURRENCY, TARGETS, source_name, target_name};
use crate::peer::Subject;
use crate::requests::Requests;
use crate::stage::{self, NAMESPACE, Stage};
use crate::targets::Targets;

/// How many single updates are timed.
const SAMPLES: usize = 200;
/// Between two of them, so that each finds a subject that is idle.
const PAUSE: Duration = Duration::from_millis(10);
/// What happens after the last write that is seen: more writes, freed memory.
const SETTLE: Duration = Duration::from_secs(2);

/// What a run has shown.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Seconds from the start of the process to the last target.
    pub(crate) sync: f64,
    /// Requests for each object until then.
    pub(crate) requests: f64,
    /// Milliseconds from a source's write to its target's, half of them at most.
    pub(crate) p50: f64,
    /// 99 of 100 of them at most.
    pub(crate) p99: f64,
    /// Seconds from the first of all sources' writes to the last target's.
    pub(crate) all: f64,
    /// Resident memory in MB, after all that.
    pub(crate) memory: f64,
    /// Seconds from a restart to the one target that was missing.
    pub(crate) restart: f64,
    /// Requests to write that were sent after a restart, but for that one.
    pub(crate) needless: f64,
    /// Seconds from the end of a leader to the target of a source that is written then, by the
    /// replica that stood by; `None` for subjects without replicas.
    pub(crate) takeover: Option<f64>,
}

/// The sources and targets of a namespace.
pub(crate) struct Bench<'a> {
    stage: &'a Stage,
    configs: Api<ConfigMap>,
    targets: Targets,
    count: usize,
    /// That of the sources that were written last.
    revision: u64,
}

impl<'a> Bench<'a> {
    /// Makes so many sources.
    pub(crate) async fn new(stage: &'a Stage, count: usize) -> Result<Self, Error> {
        let configs: Api<ConfigMap> = Api::namespaced(stage.client()?, NAMESPACE);
        let objects = stream::iter(0..count).map(job::source).map(Ok::<_, Error>);
        let params = PostParams::default();
        objects
            .try_for_each_concurrent(Some(CONCURRENCY.into()), async |source| {
                configs.create(&params, &source).await?;
                Ok(())
            })
            .await?;
        let targets = Targets::watch(stage.client()?, NAMESPACE).await?;
        Ok(Self {
            stage,
            configs,
            targets,
            count,
            revision: 0,
        })
    }

    /// Measures a subject, and removes what it has made.
    pub(crate) async fn run(&mut self, subject: Subject) -> Result<Figures, Error> {
        // The last run left each source with this one.
        let (count, before) = (self.count, self.requests().await?);
        let start = Instant::now();
        let process = self.stage.start(subject);
        let end = self.targets.all_at(count, self.revision).await?;
        let after = self.requests().await?;
        let mut figures = Figures {
            sync: (end - start).as_secs_f64(),
            requests: before.until(&after).all() / count as f64,
            ..Figures::default()
        };
        self.targets.quiet(SETTLE).await;
        self.single(&mut figures).await?;
        figures.all = self.all().await?.as_secs_f64();
        self.targets.quiet(SETTLE).await;
        tokio::time::sleep(SETTLE).await;
        figures.memory = process.resident_memory() as f64 / 1e6;
        stage::stop(subject, process);
        self.restart(subject, &mut figures).await?;
        if subject == Subject::Deltic {
            figures.takeover = Some(self.takeover().await?);
        }
        self.clear().await?;
        Ok(figures)
    }

    /// Updates of one source at a time.
    async fn single(&mut self, figures: &mut Figures) -> Result<(), Error> {
        let mut times = Vec::with_capacity(SAMPLES);
        for sample in 0..SAMPLES {
            self.revision += 1;
            let name = source_name(sample * self.count / SAMPLES);
            let start = Instant::now();
            write(&self.configs, &name, self.revision).await?;
            let target = target_name(&name);
            let end = self.targets.one_at(&target, self.revision).await?;
            times.push((end - start).as_secs_f64() * 1e3);
            tokio::time::sleep(PAUSE).await;
        }
        times.sort_by(f64::total_cmp);
        figures.p50 = times[SAMPLES / 2];
        figures.p99 = times[SAMPLES * 99 / 100];
        Ok(())
    }

    /// An update of all sources: from the first write to the last target.
    async fn all(&mut self) -> Result<Duration, Error> {
        self.revision += 1;
        let (configs, revision) = (&self.configs, self.revision);
        let start = Instant::now();
        let writes = stream::iter(0..self.count)
            .map(Ok)
            .try_for_each_concurrent(Some(CONCURRENCY.into()), async |number| {
                write(configs, &source_name(number), revision).await
            });
        let end = self.targets.all_at(self.count, revision);
        let ((), end) = futures::try_join!(writes, end)?;
        Ok(end - start)
    }

    /// The process starts anew, and finds all right but for one target, the last.
    async fn restart(&mut self, subject: Subject, figures: &mut Figures) -> Result<(), Error> {
        let missing = target_name(&source_name(self.count - 1));
        let params = DeleteParams::default();
        self.configs.delete(&missing, &params).await?;
        self.targets.quiet(SETTLE).await;
        let before = self.requests().await?;
        let start = Instant::now();
        let process = self.stage.start(subject);
        let end = self.targets.one_at(&missing, self.revision).await?;
        figures.restart = (end - start).as_secs_f64();
        self.targets.quiet(SETTLE).await;
        figures.needless = before.until(&self.requests().await?).writes - 1.0;
        stage::stop(subject, process);
        Ok(())
    }

    /// A leader shuts down while another replica stands by.
    async fn takeover(&mut self) -> Result<f64, Error> {
        let leader = self.stage.replica("leading").await;
        let standby = self.stage.replica("standing by").await;
        tokio::time::sleep(SETTLE).await;
        stage::stop(Subject::Deltic, leader);
        let start = Instant::now();
        let (name, new) = (source_name(self.count / 2), self.revision + 1);
        write(&self.configs, &name, new).await?;
        let took = self.targets.one_at(&target_name(&name), new).await? - start;
        stage::stop(Subject::Deltic, standby);
        // All sources have the same revision again, as the next run expects.
        write(&self.configs, &name, self.revision).await?;
        Ok(took.as_secs_f64())
    }

    async fn clear(&mut self) -> Result<(), Error> {
        let all = ListParams::default().labels(TARGETS);
        self.configs
            .delete_collection(&DeleteParams::default(), &all)
            .await?;
        self.targets.none().await
    }

    async fn requests(&self) -> Result<Requests, Error> {
        Requests::so_far(&self.stage.client()?).await
    }
}

/// Gives a source a revision.
async fn write(configs: &Api<ConfigMap>, name: &str, revision: u64) -> Result<(), Error> {
    let patch = json!({"data": {"revision": revision.to_string()}});
    let params = PatchParams::default();
    configs.patch(name, &params, &Patch::Merge(patch)).await?;
    Ok(())
}
