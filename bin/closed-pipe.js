// Imported by every entry point. In `program | head`, a closed pipe is not an error: the program exits with 0. Other write errors exit with 1.
let isClosed = false;

function end(error) {
  if (error.code !== 'EPIPE') {
    process.stderr.write(`The output could not be written: ${error.message}\n`);
    process.exit(1);
  }
  if (isClosed) return;
  isClosed = true;
  // programs that need to clean up listen for SIGTERM
  if (!process.emit('SIGTERM')) process.exit(0);
}

for (const stream of [process.stdout, process.stderr]) stream.on('error', end);
process.on('exit', () => {
  if (isClosed) process.exitCode = 0;
});
