// Answers the differential tests for xterm.js: each line of standard input is a
// screen's size and, in base64, what a program wrote to it; each line of standard
// output is what xterm.js then shows. NODE_PATH has to lead to its package.
const { Terminal } = require('@xterm/headless');

function style(c) {
  const f = [];
  for (const [name, on] of [['bold', c.isBold()], ['dim', c.isDim()], ['italic', c.isItalic()],
    ['blink', c.isBlink()], ['inverse', c.isInverse()], ['hidden', c.isInvisible()],
    ['strike', c.isStrikethrough()], ['overline', c.isOverline()], ['underline', c.isUnderline()]]) {
    if (on) f.push(name);
  }
  if (c.isFgPalette()) f.push('fg=' + c.getFgColor());
  if (c.isFgRGB()) f.push('fg=#' + c.getFgColor().toString(16).padStart(6, '0'));
  if (c.isBgPalette()) f.push('bg=' + c.getBgColor());
  if (c.isBgRGB()) f.push('bg=#' + c.getBgColor().toString(16).padStart(6, '0'));
  return f.join(' ');
}

function show(term) {
  const buffer = term.buffer.active;
  const rows = [];
  for (let y = 0; y < term.rows; y++) {
    const line = buffer.getLine(buffer.baseY + y);
    const cells = [];
    for (let x = 0; x < term.cols; x++) {
      const c = line.getCell(x);
      const half = c.getWidth() === 0 && x > 0 && line.getCell(x - 1).getWidth() === 2;
      cells.push([c.getChars() || (half ? '' : ' '), style(c)]);
    }
    rows.push(cells);
  }
  return { rows, x: Math.min(buffer.cursorX, term.cols - 1), y: buffer.cursorY,
    pending: buffer.cursorX >= term.cols, history: buffer.baseY };
}

function answer(request) {
  return new Promise((done) => {
    const term = new Terminal({ cols: request.cols, rows: request.rows, scrollback: request.history,
      allowProposedApi: true });
    let replies = '';
    term.onData((d) => { replies += d; });
    term.write(Buffer.from(request.data, 'base64'), () => {
      const out = show(term);
      out.replies = replies;
      term.dispose();
      done(out);
    });
  });
}

(async () => {
  for await (const line of require('readline').createInterface({ input: process.stdin })) {
    process.stdout.write(JSON.stringify(await answer(JSON.parse(line))) + '\n');
  }
})();
