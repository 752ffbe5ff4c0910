//! Agents by their command line: real ones that speak the Agent Client Protocol, on a scripted model.
