//! What the kernel says of the gateway's process.

use testkit::gateway::Gateway;

/// Fields of `/proc/PID/stat` behind the program's name.
fn stat(gateway: &Gateway) -> Vec<String> {
    let text = std::fs::read_to_string(format!("/proc/{}/stat", gateway.pid())).unwrap();
    text.rsplit_once(')').unwrap().1.split_whitespace().map(str::to_owned).collect()
}

#[allow(dead_code, clippy::allow_attributes, reason = "not every benchmark that includes this measures it")]
/// Milliseconds of CPU that the gateway used while `work` went on.
pub(crate) async fn cpu_of<F: Future>(gateway: &Gateway, work: F) -> (f64, F::Output) {
    let ticks = |stat: Vec<String>| stat[11].parse::<f64>().unwrap() + stat[12].parse::<f64>().unwrap();
    let before = ticks(stat(gateway));
    let output = work.await;
    ((ticks(stat(gateway)) - before) * 10.0, output)
}

/// KiB of memory in use.
pub(crate) fn resident(gateway: &Gateway) -> u64 {
    stat(gateway)[21].parse::<u64>().unwrap() * 4
}
