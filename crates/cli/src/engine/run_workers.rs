//! The workers of a run, ready for sessions: each has tools, an examiner and backends of its own.

use std::path::Path;
use std::sync::Arc;

use autonoe_core::agent::Backend;
use autonoe_core::backend_chain::PhaseModels;
use autonoe_core::examiner::Examiner;
use autonoe_core::fault::{Fault, FaultLayer};
use autonoe_deliverables::{CallServer, DeliverableService};
use autonoe_files::WriteFailure;
use autonoe_policy::PolicyOptions;
use autonoe_workspace::WorkerSite;

use super::merged_examiner::{MergedExaminer, MergedWork};
use super::resolve::{ResolvedWorker, RunBackend};

pub type BuiltBackend = (Box<dyn Backend>, PhaseModels);

/// The workers of a run. It has none if one deliverable is built after another.
#[derive(Default)]
pub struct RunWorkers {
    /// Of each worker, in the order of the chain.
    backends: Vec<Vec<BuiltBackend>>,
    policies: Vec<Arc<PolicyOptions>>,
    /// Serve the tools until they are dropped.
    _calls: Vec<CallServer>,
}

impl RunWorkers {
    /// `tools` makes the tools of one worker; `work` is what all of them examine together.
    pub fn build(
        workers: Vec<ResolvedWorker>,
        sites: &[WorkerSite],
        work: Option<&Arc<MergedWork>>,
        tools: impl Fn() -> DeliverableService,
    ) -> Result<Self, Fault> {
        let mut built = Self::default();
        for (worker, site) in workers.into_iter().zip(sites) {
            let examiner = work.map(|shared| {
                let (shared, site) = (Arc::clone(shared), site.clone());
                Arc::new(MergedExaminer { shared, site }) as Arc<dyn Examiner>
            });
            let own = site.clone();
            let tools = examiner.into_iter().fold(tools(), DeliverableService::examined_by);
            let tools = Arc::new(tools.assigning(Box::new(move || own.held())));
            built._calls.push(serve_calls(&worker.socket, &tools)?);
            let backends = worker.backends.into_iter().map(|backend| built_backend(backend, &tools));
            built.backends.push(backends.collect::<Result<_, Fault>>()?);
            built.policies.push(worker.policy);
        }
        Ok(built)
    }

    /// The backends of all workers at a place of the chain.
    pub fn backends_at(&self, place: usize) -> Vec<&dyn Backend> {
        let built = self.backends.iter().filter_map(|backends| backends.get(place));
        built.map(|(backend, _)| backend.as_ref()).collect()
    }

    /// Of the worker of this number, counted from 1; `None` for the run itself.
    pub fn policy(&self, worker: usize) -> Option<&Arc<PolicyOptions>> {
        self.policies.get(worker.checked_sub(1)?)
    }
}

pub fn serve_calls(socket: &Path, tools: &Arc<DeliverableService>) -> Result<CallServer, Fault> {
    CallServer::start(socket, Arc::clone(tools)).map_err(|error| {
        let WriteFailure { why, advice } = WriteFailure::of(socket, &error);
        let message = format!("The socket {} cannot be opened: {why}.", socket.display());
        Fault::permanent(FaultLayer::System, "socket", message).hint(advice)
    })
}

pub fn built_backend(backend: RunBackend, tools: &Arc<DeliverableService>) -> Result<BuiltBackend, Fault> {
    Ok((backend.settings.build(Arc::clone(tools))?, backend.models))
}
