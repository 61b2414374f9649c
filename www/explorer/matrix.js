/** The matrix: a column for each crash point of the run, a row for each set of mechanisms. A real table, driven by arrow keys. */
import { html, nothing } from 'lit/html.js';
import { guard } from 'lit/directives/guard.js';
import { plural } from '../ui/format.js';

/**
 * The wasm module has it the other way round: its rows are the crash points.
 *
 * @typedef {import('../study/crashlab.js').MatrixView} MatrixView
 * @typedef {import('../study/crashlab.js').MatrixColumn} Line  A set of mechanisms.
 * @typedef {MatrixView['rows'][number]} Point  A crash point.
 * @typedef {'fine' | 'broken' | 'not_reached' | 'waiting'} Verdict
 * @typedef {object} MatrixProps
 * @property {MatrixView} view
 * @property {(id: string) => string} nameOf  Of an invariant.
 * @property {(off: string) => { id: string, title: string } | null} elsewhere  The scenario in which the absence of a mechanism breaks
 *   something, if that is another one.
 * @property {boolean} crashes  The scenario has crashes of its own.
 * @property {(scenario: string) => void} onScenario
 * @property {(point: number, line: number) => void} onOpen
 */

/** @type {Record<Verdict, string>} */
export const GLYPHS = { fine: '✓', broken: '✕', not_reached: '·', waiting: '…' };
/** @type {Record<Verdict, string>} */
export const NAMES = {
  fine: 'fine',
  broken: 'broken',
  not_reached: 'not applicable',
  waiting: 'not yet searched',
};

/** @param {MatrixProps} props */
export function matrix(props) {
  const { view } = props;
  return html`<div class="scroll">
      <table
        class="matrix"
        role="grid"
        aria-labelledby="matrix-title"
        aria-describedby="matrix-keys"
        @keydown=${(/** @type {KeyboardEvent} */ event) => press(event, props)}
        @click=${(/** @type {Event} */ event) => open(event.target, props)}
        @focusin=${(/** @type {Event} */ event) => look(event, props)}
        @pointerover=${(/** @type {Event} */ event) => look(event, props)}
      >
        <colgroup>
          <col class="names" />
          <col span=${view.rows.length} />
        </colgroup>
        <thead>
          ${guard([view.rows], () => heads(view.rows))}
        </thead>
        <tbody>
          ${view.columns.map((line) => guard([line.cells === null], () => row(line, props)))}
        </tbody>
      </table>
    </div>
    <p class="readout" aria-hidden="true"></p>`;
}

/** @param {Point[]} points */
function heads(points) {
  const steps = groups(points, (point, before) => point.step !== before.step);
  const effects = groups(
    points,
    (point, before) =>
      point.when === 'before' || point.step !== before.step || point.effect !== before.effect,
  );
  return html`<tr class="step-heads">
      <th class="corner" rowspan="3" scope="col">Taken away</th>
      ${steps.map(
        ([first, width]) =>
          html`<th scope="colgroup" colspan=${width}><span>Step ${points[first].step}</span></th>`,
      )}
    </tr>
    <tr class="effects">
      ${effects.map(
        ([first, width]) =>
          html`<th scope="colgroup" colspan=${width} class=${homeOf(points[first].place)}>
            <span>${points[first].effect.replaceAll('_', ' ')}</span>
          </th>`,
      )}
    </tr>
    <tr class="instants">
      ${points.map(
        ({ label, when }) =>
          html`<th scope="col" class=${when} title=${label}>
            <span aria-hidden="true">${when === 'before' ? 'b' : 'a'}</span
            ><span class="visually-hidden">${label}</span>
          </th>`,
      )}
    </tr>`;
}

/**
 * Neighbours that belong together: the first of them, and how many.
 * @param {Point[]} points
 * @param {(point: Point, before: Point) => boolean} parts
 */
function groups(points, parts) {
  /** @type {[number, number][]} */
  const found = [];
  points.forEach((point, index) => {
    if (index === 0 || parts(point, points[index - 1])) found.push([index, 0]);
    found[found.length - 1][1]++;
  });
  return found;
}

/** @param {string} place @returns {import('../ui/glyph.js').Home} */
function homeOf(place) {
  if (/^(append|save)/.test(place)) return 'storage';
  return place.startsWith('wait') ? 'memory' : 'world';
}

/** @param {Line} line @param {MatrixProps} props */
function row(line, { view, nameOf, elsewhere, onScenario }) {
  const cells = line.cells ?? view.rows.map(() => null);
  return html`<tr class=${line.cells ? '' : 'waiting'}>
    <th scope="row">
      <span class="name">${line.off === null ? 'nothing' : line.name}</span>
      <small>${summary(line, elsewhere, onScenario)}</small>
    </th>
    ${cells.map((cell) => {
      const verdict = cell?.verdict ?? 'waiting';
      const what = cell?.broken.length ? `: ${cell.broken.map(nameOf).join('; ')}` : '';
      return html`<td class=${verdict} tabindex="-1" aria-label="${NAMES[verdict]}${what}">
        ${GLYPHS[verdict]}
      </td>`;
    })}
  </tr>`;
}

/**
 * @param {Line} line
 * @param {MatrixProps['elsewhere']} elsewhere
 * @param {MatrixProps['onScenario']} onScenario
 */
function summary({ off, cells }, elsewhere, onScenario) {
  if (!cells) return nothing;
  const broken = cells.filter(({ verdict }) => verdict === 'broken').length;
  if (broken > 0) return `${broken} broken`;
  const other = off && elsewhere(off);
  if (!other) return 'all fine';
  const why = `Something else masks it here. What breaks without it shows in “${other.title}”.`;
  return html`all fine,
    <button class="link" title=${why} @click=${() => onScenario(other.id)}>see where not</button>`;
}

// --- Moving about ----------------------------------------------------------------------------------------------------------------

/** @param {EventTarget | null} target @returns {{ cell: HTMLTableCellElement, point: number, line: number } | null} */
function cellOf(target) {
  const cell = target instanceof Element ? target.closest('td') : null;
  const line = /** @type {HTMLTableRowElement | null} */ (cell?.parentElement);
  if (!(cell instanceof HTMLTableCellElement) || !line) return null;
  return { cell, point: cell.cellIndex - 1, line: line.sectionRowIndex };
}

/** @param {EventTarget | null} target @param {MatrixProps} props */
function open(target, { onOpen }) {
  const at = cellOf(target);
  if (at?.cell.matches('.fine, .broken')) onOpen(at.point, at.line);
}

/** @param {KeyboardEvent} event @param {MatrixProps} props */
function press(event, props) {
  const at = cellOf(event.target);
  if (!at || event.altKey || event.metaKey) return;
  if (event.key === 'Enter' || event.key === ' ') {
    event.preventDefault();
    return open(event.target, props);
  }
  const last = [props.view.rows.length - 1, props.view.columns.length - 1];
  /** @type {Record<string, [number, number]>} */
  const targets = {
    ArrowLeft: [at.point - 1, at.line],
    ArrowRight: [at.point + 1, at.line],
    ArrowUp: [at.point, at.line - 1],
    ArrowDown: [at.point, at.line + 1],
    Home: [0, event.ctrlKey ? 0 : at.line],
    End: [last[0], event.ctrlKey ? last[1] : at.line],
    PageUp: [at.point, 0],
    PageDown: [at.point, last[1]],
  };
  const target = targets[event.key];
  if (!target) return;
  event.preventDefault();
  const [point, line] = target.map((index, axis) => Math.min(Math.max(index, 0), last[axis]));
  focusCell(/** @type {HTMLTableElement} */ (at.cell.closest('table')), point, line);
}

/**
 * The one cell that Tab comes to, unless another was there last.
 * @param {ParentNode} root
 */
export function rove(root) {
  if (root.querySelector('.matrix td[tabindex="0"]')) return;
  const cells = root.querySelectorAll('.matrix td');
  const first = root.querySelector('.matrix td.broken') ?? cells[0];
  first?.setAttribute('tabindex', '0');
}

/** @param {HTMLTableElement | null} table @param {number} point @param {number} line */
export function focusCell(table, point, line) {
  const cell = table?.tBodies[0].rows[line]?.cells[point + 1];
  if (!cell) return;
  cell.focus({ preventScroll: true });
  // The headers stick to two edges, and would cover it.
  cell.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

/** Describes the cell under the focus or the pointer below the table. @param {Event} event @param {MatrixProps} props */
function look(event, { view }) {
  const at = cellOf(event.target);
  const table = /** @type {HTMLTableElement} */ (event.currentTarget);
  if (!at) return;
  if (event.type === 'focusin') {
    table.querySelector('td[tabindex="0"]')?.setAttribute('tabindex', '-1');
    at.cell.setAttribute('tabindex', '0');
  }
  const readout = table.closest('.result')?.querySelector('.readout');
  const { off, name } = view.columns[at.line];
  const verdict = at.cell.getAttribute('aria-label');
  if (readout)
    readout.textContent = `A crash ${view.rows[at.point].label}, ${off === null ? 'all mechanisms on' : `without “${name}”`}: ${verdict}.`;
}

// --- In words --------------------------------------------------------------------------------------------------------------------

export const legend = () =>
  html`<ul class="legend">
    <li><span class="fine">✓</span> fine</li>
    <li><span class="broken">✕</span> broken</li>
    <li><span class="not_reached">·</span> not applicable: this run does not come there</li>
    <li><span class="waiting">…</span> not yet</li>
    <li><span>b</span> before the effect</li>
    <li><span>a</span> after it, before its answer</li>
  </ul>`;

/**
 * What broke, as text for readers who do not see the table.
 * @param {MatrixProps} props
 */
export function broke({ view, nameOf, crashes, onOpen }) {
  const lines = view.columns.flatMap((line, index) => {
    const cells = line.cells ?? [];
    const points = cells.flatMap(({ verdict }, point) => (verdict === 'broken' ? [point] : []));
    if (points.length === 0) return [];
    const ids = [...new Set(points.flatMap((point) => cells[point].broken))];
    return [{ line, index, points, ids }];
  });
  return html`<section class="broke" aria-labelledby="broke-title">
    <h3 id="broke-title">What broke</h3>
    ${
      lines.length === 0
        ? html`<p class="none">Nothing so far.</p>`
        : html`<ul>
            ${lines.map(
              ({ line, index, points, ids }) =>
                html`<li>
                  <strong
                    >${line.off === null ? 'With all mechanisms' : `Without “${line.name}”`}</strong
                  >: ${plural(points.length, 'crash point')} of ${view.rows.length}.
                  ${ids.map(nameOf).join('; ')}.
                  ${line.broken_anyway.length > 0 ? `That needs no crash ${crashes ? 'beside the scenario’s own' : 'here'}.` : nothing}
                  First: a crash
                  <button class="link" @click=${() => onOpen(points[0], index)}>
                    ${view.rows[points[0]].label}</button
                  >.
                </li>`,
            )}
          </ul>`
    }
  </section>`;
}
