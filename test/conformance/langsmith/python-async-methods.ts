import type { ClientMethods } from './method-group.ts';
import { PYTHON_HUB } from './python-methods.ts';

/** Public methods and attributes of `AsyncClient`. Data alone: docs are made of it. */
export const PYTHON_ASYNC: ClientMethods = {
  title: 'Python: `AsyncClient`',
  version: 'langsmith 0.15.1 (PyPI)',
  about: 'Public methods and attributes of `AsyncClient`.',
  groups: [
    { area: 'Sending runs', outcome: 'works', methods: { create_run: '', update_run: '', info: '' } },
    {
      area: 'Reading runs',
      outcome: 'works',
      methods: { read_run: 'with `load_child_runs` also the tree', list_runs: 'every parameter' },
    },
    {
      area: 'Sharing traces',
      outcome: 'works',
      methods: {
        share_run: 'a `share_id` has no effect: tokens are made by the api',
        run_is_shared: '',
        read_run_shared_link: '',
      },
    },
    {
      area: 'Projects',
      outcome: 'works',
      methods: { create_project: '', read_project: '', delete_project: '' },
    },
    {
      area: 'Feedback',
      outcome: 'works',
      methods: {
        create_feedback: '',
        read_feedback: '',
        delete_feedback: '',
        list_feedback: '',
        create_presigned_feedback_token: '',
        create_feedback_from_token: '',
        create_feedback_config: '',
        list_feedback_configs: '',
        update_feedback_config: '',
        delete_feedback_config: '',
        add_feedback_categories: '',
        remove_feedback_categories: '',
      },
    },
    {
      area: 'Datasets and examples',
      outcome: 'works',
      methods: {
        create_dataset: '',
        read_dataset: '',
        list_datasets: '',
        delete_dataset: '',
        read_example: '',
        list_examples: '',
      },
    },
    {
      area: 'Datasets and examples',
      outcome: 'refused',
      feature: 'uploads of single examples as JSON',
      methods: { create_example: '' },
    },
    ...PYTHON_HUB,
    {
      area: 'The client itself',
      outcome: 'local',
      methods: { api_key: '', headers: '', workspace_id: '', aclose: '' },
    },
  ],
};
