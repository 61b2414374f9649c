/** Decisions: the question that the run waits for, and the form in which a person answers it. */

const NAMELESS = 'A decision needs the name of who takes it.';

export class Decisions {
  /** Who decides, and the note, as typed so far. */
  #form = { key: '', approver: '', note: '' };
  #present;
  #driver;
  #selection;
  #notices;

  /**
   * @param {import('../run/present.js').PresentRun} present
   * @param {import('../run/driver.js').Driver} driver
   * @param {import('./selection.js').Selection} selection
   * @param {import('./notices.js').Notices} notices
   */
  constructor(present, driver, selection, notices) {
    this.#present = present;
    this.#driver = driver;
    this.#selection = selection;
    this.#notices = notices;
  }

  /** The open question, whether its agent is alive or dead. */
  get question() {
    const { view, taken } = this.#present;
    // A tab that has lost the run may not decide anything in it.
    if (!view || taken || view.phase === 'fenced' || this.#selection.covered) return null;
    return view.world.inbox.find(({ status }) => status === 'open') ?? null;
  }

  /** @param {string} approval_key */
  formFor(approval_key) {
    if (this.#form.key !== approval_key) {
      const person = this.#present.view?.world.person;
      this.#form = { key: approval_key, approver: person?.name ?? '', note: '' };
    }
    return this.#form;
  }

  /** Decides the open question, if there is one. @param {'approved' | 'denied'} decision */
  answer(decision) {
    if (this.question) this.decide(this.question.approval_key, decision);
  }

  /**
   * @param {string} approval_key
   * @param {'approved' | 'denied'} decision
   */
  decide(approval_key, decision) {
    const notices = this.#notices;
    const form = this.formFor(approval_key);
    const name = form.approver.trim();
    if (name === '') return notices.complain(NAMELESS);
    if (this.#present.taken)
      return notices.complain('This is no longer this tab’s run: decide in the tab that has it.');
    notices.withdraw(NAMELESS);
    const person = this.#present.view?.world.person;
    const approver = person && name === person.name ? person.id : name;
    this.#driver.decide(approval_key, decision, approver, form.note.trim());
  }
}
