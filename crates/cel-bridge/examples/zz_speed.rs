use cel_bridge::*; use document::*; use std::time::Instant;
fn main() {
    let object = json!({"spec": {"replicas": 5, "containers": [{"name":"a","image":"x:1","ports":[{"containerPort":80}]},{"name":"b","image":"y:2"}], "c": "100m"}, "metadata": {"name": "abc", "labels": {"app":"web"}}});
    for t in ["object.spec.replicas > 3 && object.metadata.name.startsWith('a')", "1", "object.spec.containers.map(c, c.name)", "object.spec.containers.all(c, c.image.matches('^[a-z]+:[0-9]+$'))", "quantity(object.spec.c).isLessThan(quantity('1'))", "'%s-%d'.format([object.metadata.name, object.spec.replicas])", "isURL('http://x/y')", "ip('10.0.0.1').family() == 4", "object.?spec.?foo.orValue(3)", "object"] {
        let t0 = Instant::now(); let p = Program::compile(t).unwrap(); let c = t0.elapsed();
        let t0 = Instant::now(); let _ = Program::compile(t).unwrap(); let c2 = t0.elapsed();
        let l = Limits::default();
        let n = 200_000; let t0 = Instant::now();
        for _ in 0..n { std::hint::black_box(p.eval(&|_| Some(object.clone()), &l).ok()); }
        println!("{:?} compile {c:?} {c2:?} {t}  {:?}", t0.elapsed()/n, p.eval(&|_| Some(object.clone()), &l));
    }
}
