//! Random stories with edits of target types. Stories without edits are in `tests/drivers`, which
//! has all drivers; the offline runner cannot edit an Operator.

use seeded::Random;

use super::*;

/// Objects that Patchers and others change at random.
struct Chance(Random);

impl Chance {
    fn some(&mut self, others: bool) -> Value {
        let number = |random: &mut Random| json!(random.below(3));
        let mut document = json!({});
        let random = &mut self.0;
        let fields: [(&[&str], Value); 7] = [
            (&["data", "a"], number(random)),
            (&["data", "b"], number(random)),
            (
                &["metadata", "labels", "l"],
                json!(random.below(2).to_string()),
            ),
            (&["spec", "m", "x"], number(random)),
            (&["spec", "m", "y"], number(random)),
            (&["spec", "s"], json!([1, (number(random))])),
            (
                &["spec", "containers"],
                json!([{"name": "a", "v": (number(random))}, {"name": "b"}]),
            ),
        ];
        for (path, value) in fields {
            if random.chance(40) {
                document = set(&document, path, value);
            } else if others && random.chance(30) {
                document = set(&document, path, Value::NULL);
            }
        }
        document
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
                Wants(controller, self.some(removes))
            }
            4 | 5 => Gone(controller),
            6 | 7 => They(self.some(true)),
            8 => TheyMeanwhile(self.some(true)),
            _ => Restart,
        }
    }
}

/// A map of ours of which a field is removed is empty, or gone: nobody can tell.
fn without_empty_maps(value: &Value) -> Value {
    let Some(map) = value.as_map() else {
        return value.clone();
    };
    let members = map.iter();
    let members = members.map(|(key, value)| (key.clone(), without_empty_maps(value)));
    let kept = members.filter(|(_, value)| *value != json!({}));
    kept.collect::<document::Map>().into()
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
            Story::new(config_map("x"), &chance.some(false))
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
