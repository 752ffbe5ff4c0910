//! The two plans, against seed 002 §8.3, §9.5, §9.6 and Appendix A.1.

mod deprecated;
mod selection;
mod sync;
