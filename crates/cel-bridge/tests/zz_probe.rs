use cel_bridge::*; use document::*; use std::time::Instant;
#[test] fn probe() {
    let big = Value::from("a".repeat(1<<20));
    let big2 = Value::from("ab".repeat(1<<19));
    for (t, v) in [("big.find('(a|b|ab){1,12}c')",&big),("big.matches('(a{1,50}){1,20}b')",&big),("big.matches('a{1,100}b')",&big),("big.matches('(a|aa)+$')",&big),("big.matches('[ab]*a[ab]{20}c')",&big2),("big.matches('[ab]*a[ab]{60}c')",&big2),("big.matches('(.*)(.*)(.*)(.*)x')",&big2), ("big.findAll('[ab]*a[ab]{12}c').size() == 0", &big2),("big.findAll('a|a*c').size() == 0", &big), ("big.findAll('.*[^a]|a').size() == 0", &big), ("big.matches('[ab]*a[ab]{12}c')",&big2)] {
        let c = Instant::now();
        let p = Program::compile(t).unwrap();
        let c = c.elapsed();
        let mut cost = 1000u64;
        let r = loop { let t0=Instant::now(); let r = p.eval(&|_| Some(v.clone()), &Limits{cost, ..Default::default()}); if !matches!(r, Err(EvalError::CostExceeded{..})) {break (r.map(|_|()), t0.elapsed())} cost*=2; };
        println!("compile {c:?} cost<{cost} {r:?} {t}");
    }
}
