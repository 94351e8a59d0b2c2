use aes::cipher::{BlockEncrypt, KeyInit};
use aes::Aes128;

use crate::config::Config;

pub struct Frame {
    pub src: u32,
    pub counter: u32,
    pub body: [u8; 8],
    pub mic: [u8; 4],
}

fn mic(key: &[u8; 16], f: &Frame) -> [u8; 4] {
    let mut block = [0u8; 16];
    block[..4].copy_from_slice(&f.src.to_le_bytes());
    block[4..8].copy_from_slice(&f.counter.to_le_bytes());
    block[8..].copy_from_slice(&f.body);
    let mut b = block.into();
    Aes128::new(key.into()).encrypt_block(&mut b);
    [b[0], b[1], b[2], b[3]]
}

/// Old counters are dropped, or a neighbour could record and resend a command.
pub fn fresh(cfg: &mut Config, f: &Frame) -> bool {
    if f.counter <= cfg.last_counter || mic(&cfg.key, f) != f.mic {
        return false;
    }
    cfg.last_counter = f.counter;
    true
}

/// One percent per hour is the law on this band.
pub struct DutyCycle {
    used_ms: u32,
    hour: u32,
}

impl DutyCycle {
    pub fn may_send(&mut self, hour: u32, airtime_ms: u32) -> bool {
        if hour != self.hour {
            self.hour = hour;
            self.used_ms = 0;
        }
        if self.used_ms + airtime_ms > 36_000 {
            return false;
        }
        self.used_ms += airtime_ms;
        true
    }
}

pub async fn poll(cfg: &mut Config) {
    if let Some(f) = crate::power::receive(30).await {
        if fresh(cfg, &f) && f.body[0] == 1 {
            cfg.target_centi = i16::from_le_bytes([f.body[1], f.body[2]]) as i32;
        }
    }
}
