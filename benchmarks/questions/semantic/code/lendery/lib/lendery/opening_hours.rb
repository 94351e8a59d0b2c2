require 'yaml'

module Lendery
  module OpeningHours
    CONFIG = YAML.load_file('config/hours.yml')

    module_function

    def open?(date)
      return false if CONFIG['closed'].include?(date.iso8601)

      CONFIG['weekdays'].key?(date.strftime('%a').downcase)
    end

    def next_open(date)
      date += 1 until open?(date)
      date
    end
  end
end
