/**
 * Reads the data of the events in a stream (WHATWG HTML, section 9.2), piece by piece. It holds only the line and the event that have not ended, and looks
 * at each byte once.
 */
export function openEvents(): (piece: Buffer) => string[] {
  const decoder = new TextDecoder();
  let line = '';
  let data: string[] = [];
  return (piece) => {
    const text = decoder.decode(piece, { stream: true });
    line += text;
    if (!/[\r\n]/.test(text)) return [];
    // a carriage return at the end may be half of a line break
    const lines = line.split(/\r\n|\n|\r(?!$)/);
    line = lines.pop() ?? '';
    const events: string[] = [];
    for (const complete of lines) {
      if (complete.startsWith('data:')) data.push(complete.slice(5).replace(/^ /, ''));
      if (complete !== '' || data.length === 0) continue;
      events.push(data.join('\n'));
      data = [];
    }
    return events;
  };
}
