/** What to do first, shown as long as there is no run. */
import { html, nothing } from 'lit/html.js';
import './ready.css';

/**
 * @param {import('../pkg/crashlab.js').LabView} view
 * @param {boolean} isNew  Nobody has used the page in this browser.
 */
export function ready(view, isNew) {
  return html`<div class="card ready">
    <h2>Press Run, and ticket ${view.task_id} is worked on</h2>
    <p>
      A support agent reads the ticket, looks things up and answers. Before money moves it has to
      ask you.
    </p>
    <ul>
      <li><kbd>Space</kbd> runs and pauses</li>
      <li><kbd>S</kbd> does one effect at a time</li>
      <li><kbd>X</kbd> kills the agent, whenever you like; <kbd>R</kbd> brings it back</li>
    </ul>
    ${isNew ? html`<p>New here? <a href="#lesson=loop">Take the first lesson</a>: five minutes.</p>` : nothing}
  </div>`;
}
