/** The scenarios that can be chosen: the shipped ones, and the reader's own after them. */
import { catalogue } from 'scenarios:catalogue';
import { customScenarios } from '../custom-scenarios.js';
import { read_scenario } from '../pkg/crashlab.js';

/** @typedef {{ id: string, title: string, own?: boolean, load: () => Promise<string> }} Choice */

export class Scenarios {
  /** @type {Choice[]} */
  all = [...catalogue, ...customScenarios()];

  get shipped() {
    return this.all.filter(({ own }) => !own);
  }

  /** @param {string | null} id */
  has(id) {
    return this.all.some((one) => one.id === id);
  }

  /** A scenario that can be chosen, with its document. @param {string} id */
  async load(id) {
    const found = this.all.find((one) => one.id === id);
    if (!found) throw new Error(`There is no scenario “${id}”.`);
    return this.read(await found.load());
  }

  /** A scenario from its text. What is wrong with it is an error that names the path. @param {string} json */
  read(json) {
    return read_scenario(json);
  }

  /** The reader's own have changed in storage. */
  refresh() {
    this.all = [...this.shipped, ...customScenarios()];
  }
}
