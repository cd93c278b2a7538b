// Generics, closures and traits, so that names of both manglings are met.
use std::collections::BTreeMap;

trait Tick {
    fn tick(&mut self, dt: u32) -> u64;
}

struct Body<T> {
    values: Vec<T>,
}

impl<T: Copy + Into<u64>> Tick for Body<T> {
    fn tick(&mut self, dt: u32) -> u64 {
        self.values.iter().map(|v| (*v).into() * u64::from(dt)).filter(|v| v % 3 != 0).sum()
    }
}

mod scene {
    pub fn load(name: &str) -> Result<usize, String> {
        name.chars().rev().collect::<String>().len().checked_sub(2).ok_or_else(|| format!("short {name}"))
    }
}

fn main() {
    let mut parts: BTreeMap<String, Box<dyn Tick>> = BTreeMap::new();
    parts.insert("a".into(), Box::new(Body::<u8> { values: vec![1, 2, 3] }));
    parts.insert("b".into(), Box::new(Body::<u32> { values: vec![4, 5, 6] }));
    let mut sum = 0;
    for (name, part) in parts.iter_mut() {
        sum += part.tick(3) + scene::load(name).unwrap_or(7) as u64;
    }
    println!("{sum}");
}
