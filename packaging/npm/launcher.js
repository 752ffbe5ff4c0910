#!/usr/bin/env node
// Starts the autonoe of this machine's platform package, which npm has installed as an optional dependency. Nothing is downloaded here.
'use strict';

const { spawn } = require('node:child_process');

const name = `@autonoe/${process.platform}-${process.arch}`;

function findProgram() {
  try {
    return require.resolve(`${name}/bin/autonoe`);
  } catch {
    console.error(
      `autonoe: the package ${name} is not installed. Either there is no build for this platform, or optional ` +
        'dependencies were left out; install again without --omit=optional.',
    );
    process.exit(1);
  }
}

const child = spawn(findProgram(), process.argv.slice(2), { stdio: 'inherit' });

// The terminal sends Ctrl+C to both of us: the child decides, and we only wait for it.
process.on('SIGINT', () => {});
for (const signal of ['SIGTERM', 'SIGHUP', 'SIGQUIT']) {
  process.on(signal, () => child.kill(signal));
}

child.on('error', (error) => {
  console.error(`autonoe: cannot be started: ${error.message}`);
  process.exit(1);
});

child.on('exit', (code, signal) => {
  if (signal === null) process.exit(code);
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
});
