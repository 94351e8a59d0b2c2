require 'sinatra/base'
require_relative 'lib/lendery'

module Lendery
  class App < Sinatra::Base
    enable :sessions

    helpers do
      def current_member
        @current_member ||= Member[session[:member_id]]
      end
    end

    before '/my/*' do
      redirect '/login' unless current_member
    end

    post '/login' do
      member = Member.first(email: params[:email].to_s.downcase)
      halt 401, erb(:login) unless member&.password?(params[:password])
      session[:member_id] = member.id
      redirect '/my/loans'
    end

    post '/my/reserve/:id' do
      Holds.place(Item[params[:id]], current_member)
      redirect '/my/loans'
    end

    get '/items' do
      @items = Catalogue.search(params[:q])
      erb :items
    end
  end
end
