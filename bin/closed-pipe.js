// Imported by every entry point. In `program | head`, a closed pipe is not an error: the program does its work without output. Other write errors
// exit with 1.
let isClosed = false;

function end(error) {
  if (isClosed) return;
  if (error.code !== 'EPIPE') {
    process.stderr.write(`The output could not be written: ${error.message}\n`);
    process.exit(1);
  }
  isClosed = true;
  // those that would run on listen for it
  process.emit('SIGTERM');
}

for (const stream of [process.stdout, process.stderr]) stream.on('error', end);
