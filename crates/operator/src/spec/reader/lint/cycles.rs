//! Warnings about controllers that read what they write, directly or through others.

use dataflow::Topology;
use document::Location;

use super::super::SpecReader;
use crate::problem::Problem;
use crate::spec::{Controller, Operator};
use crate::typed::Feedback;

/// The controllers of larger cycles are not compared in pairs.
const MOST_COMPARED: usize = 64;

impl SpecReader<'_> {
    pub(super) fn cycles(
        &mut self,
        operator: &Operator,
        whole: &[Problem],
        unsure: &[&Location],
        feedback: &Feedback,
    ) {
        let sees_itself: Vec<bool> = operator
            .controllers
            .iter()
            .map(|controller| feedback.is_seen(controller, controller))
            .collect();
        for cycle in cycles(operator, &sees_itself, feedback) {
            let controllers = cycle.iter().map(|number| &operator.controllers[*number]);
            let controllers: Vec<&Controller> = controllers.collect();
            let sure = controllers.iter().zip(&cycle);
            let sure = sure.filter(|(controller, _)| !unsure.contains(&&controller.at));
            let (parts, others): (Vec<_>, Vec<_>) =
                sure.partition(|(controller, _)| feedback.writes_part(controller));
            for (controller, _) in parts {
                let message = format!("{} reads the kind that it writes", controller.name);
                let problem = Problem::warning("cycle", &controller.at, message);
                self.problems.push(problem.with_help(IS_PART));
            }
            let place = others.into_iter().find(|(controller, number)| {
                // A whole object that is written back is reported as such.
                let written_back = sees_itself[**number]
                    && whole.iter().any(|problem| problem.at.is_in(&controller.at));
                !written_back
            });
            let Some((place, _)) = place else { continue };
            let names = controllers
                .iter()
                .map(|controller| controller.name.as_str());
            let message = match names.collect::<Vec<_>>().split_last() {
                Some((last, [])) => format!("{last} reads the kind that it writes"),
                Some((last, others)) => {
                    format!("{} and {last} read each other's output", others.join(", "))
                }
                None => continue,
            };
            let problem = Problem::warning("cycle", &place.at, message);
            self.problems.push(problem.with_help(RUNS));
        }
    }
}

/// What to do about an Updater that replaces the objects that it reads by a part of them.
const IS_PART: &str = "an Updater writes whole objects, and removes the fields that the result lacks; to change some fields of the objects that are read, use `type: Patcher`";

/// What to do about other cycles.
const RUNS: &str = "controllers in a cycle run until nothing changes; after 64 rounds they stop with the error `cycle`; a namespace or labelSelector of the source that excludes what is written rules it out";

/// The controllers of each cycle, without those that do not see what the others write.
fn cycles(operator: &Operator, sees_itself: &[bool], feedback: &Feedback) -> Vec<Vec<usize>> {
    let found = operator.topology().cycles(|number| sees_itself[number]);
    let mut cycles = Vec::new();
    for members in found {
        if members.len() == 1 || members.len() > MOST_COMPARED {
            cycles.push(members);
            continue;
        }
        let is_seen = |writer: usize, reader: usize| {
            let controller = |member: usize| &operator.controllers[members[member]];
            feedback.is_seen(controller(writer), controller(reader))
        };
        let count = members.len();
        let pairs = Topology::new((0..count).map(|member| {
            let read = (0..count).filter(|writer| is_seen(*writer, member));
            let read = read.map(|writer| (writer, member)).collect();
            let written = (0..count).map(|reader| (member, reader));
            (read, written.collect::<Vec<_>>())
        }));
        let inner = pairs.cycles(|member| sees_itself[members[member]]);
        cycles.extend(inner.into_iter().map(|cycle| {
            let members = cycle.into_iter().map(|member| members[member]);
            members.collect::<Vec<_>>()
        }));
    }
    cycles
}
