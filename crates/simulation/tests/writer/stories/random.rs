//! Random stories with edits of target types. Stories without edits are in `tests/drivers`, which
//! has all drivers; the offline runner cannot edit an Operator.

use seeded::Random;
use simulation::stories::{Removals, random_fields, without_empty_maps};

use super::*;

/// Objects that Patchers and others change at random.
struct Chance(Random);

impl Chance {
    fn some(&mut self, removals: Removals) -> Value {
        random_fields(&mut self.0, false, removals)
    }

    fn step(&mut self, controllers: &[&'static str], types: &[TargetType]) -> Step {
        let controller = *self.0.pick(controllers);
        if !types.is_empty() && self.0.chance(15) {
            return Becomes(controller, *self.0.pick(types));
        }
        match self.0.below(10) {
            0..=3 => {
                let removes =
                    PATCHERS.contains(&controller) && types.is_empty() && self.0.chance(30);
                let removals = if removes {
                    Removals::Some
                } else {
                    Removals::None
                };
                Wants(controller, self.some(removals))
            }
            4 | 5 => Gone(controller),
            6 | 7 => They(self.some(Removals::Some)),
            8 => TheyMeanwhile(self.some(Removals::Some)),
            _ => Restart,
        }
    }
}

/// Random stories of these controllers, whose targets become one of these types now and then.
async fn typed_stories(
    controllers: &[&'static str],
    types: &[TargetType],
    exists: impl Fn(u64) -> bool,
) {
    for seed in seeded::seeds(100) {
        let mut chance = Chance(Random::new(seed));
        let mut story = if exists(seed) {
            Story::new(config_map("x"), &chance.some(Removals::None))
        } else {
            Story::without_object(config_map("x"))
        };
        let mut told = vec![story.on_server().to_string()];
        for _ in 0..20 {
            let step = chance.step(controllers, types);
            story.run(&step).await;
            told.push(format!("{step:?}\n  {}", story.on_server()));
            assert!(writes(&story.h).len() < 20, "a loop:\n{}", told.join("\n"));
            assert_eq!(
                without_empty_maps(&story.on_server()),
                without_empty_maps(&content(&story.object)),
                "seed {seed}:\n{}",
                told.join("\n")
            );
        }
    }
}

#[tokio::test(start_paused = true)]
async fn edits_of_types_on_a_server_are_as_they_are_offline() {
    let types = [TargetType::Updater, TargetType::Patcher];
    typed_stories(&["u", "p"], &types, |seed| seed % 2 == 0).await;
}
